import { hashPassword } from '../../server/auth/logins/passwords.ts'
import { foreignStep, keyStep, loginStep, strangerStep } from './access-steps.ts'
import { checkDay } from './bill-audit.ts'
import { chatBurst, countedBurst, failuresBurst, mixedBurst, repeatedBurst, revokedBurst } from './burst-steps.ts'
import { chatStep, endChatStep, floodStep, holdChatStep } from './chat-steps.ts'
import { checkModelMoney, holdModelStep, modelBurst, modelChatStep, ownToolStep } from './hostile-steps.ts'
import { creditStep, forbiddenStep, staleStep, suspendStep, unblockStep, verifyStep } from './money-steps.ts'
import { backupStep, crashStep, finishStep, restartStep, restoreStep } from './restart-steps.ts'
import { edgeStep } from './edge-steps.ts'
import { eraseStep } from './erasure-steps.ts'
import { guardStep } from './guard-steps.ts'
import { invitationStep } from './invitation-steps.ts'
import { clientTokenStep, limitStep } from './limit-steps.ts'
import { paymentStep, topupStep } from './payment-steps.ts'
import { rechargesOf } from './recharge-model.ts'
import { rechargeStep, setRechargeStep } from './recharge-steps.ts'
import { signUpStep } from './sign-up-steps.ts'
import {
  createSessionStep,
  deleteSessionStep,
  listSessionsStep,
  readSessionStep,
  updateSessionStep,
} from './session-steps.ts'
import { detachStep, statelessStep } from './detached-steps.ts'
import { fileChatStep } from './file-steps.ts'
import { modelLeaveStep } from './model-leave-steps.ts'
import { platformStep } from './platform-steps.ts'
import { MachineTime } from './sim-clock.ts'
import { postgresSimEngine } from './postgres-sim.ts'
import { sqliteSimEngine, type SimEngine } from './sim-engine.ts'
import { abandonedHaveEnded } from './sim-host.ts'
import { gates } from './sim-gates.ts'
import { SimRandom } from './sim-random.ts'
import { endsOf, moneyOf, type SimReport } from './sim-report.ts'
import { SimWorld, startOfTime, type KnownPassword } from './sim-world.ts'
import {
  accountStep,
  cancelStep,
  createTaskStep,
  linkStep,
  listTasksStep,
  readTaskStep,
  releaseStep,
  slowTaskStep,
} from './task-steps.ts'
import { patientTaskStep, toolTaskStep } from './tool-task-steps.ts'
import { passStep, setClockStep } from './time-steps.ts'

/** A step resolves with its number of operations. Any other value counts as one. */
type Step = (world: SimWorld) => Promise<unknown>

const steps = {
  task: [createTaskStep, 240],
  release: [releaseStep, 60],
  cancel: [cancelStep, 18],
  readTask: [readTaskStep, 50],
  listTasks: [listTasksStep, 10],
  link: [linkStep, 12],
  slowTask: [slowTaskStep, 0.4],
  account: [accountStep, 20],
  chat: [chatStep, 100],
  flood: [floodStep, 12],
  holdChat: [holdChatStep, 50],
  endChat: [endChatStep, 35],
  detach: [detachStep, 30],
  stateless: [statelessStep, 20],
  modelChat: [modelChatStep, 25],
  modelLeave: [modelLeaveStep, 6],
  fileChat: [fileChatStep, 12],
  toolTask: [toolTaskStep, 14],
  patientTask: [patientTaskStep, 0.4],
  holdModel: [holdModelStep, 5],
  modelBurst: [modelBurst, 3],
  ownTool: [ownToolStep, 6],
  createSession: [createSessionStep, 35],
  readSession: [readSessionStep, 35],
  listSessions: [listSessionsStep, 10],
  updateSession: [updateSessionStep, 25],
  deleteSession: [deleteSessionStep, 20],
  credit: [creditStep, 70],
  platform: [platformStep, 20],
  topup: [topupStep, 20],
  payment: [paymentStep, 40],
  setRecharge: [setRechargeStep, 25],
  recharge: [rechargeStep, 25],
  limit: [limitStep, 25],
  clientToken: [clientTokenStep, 6],
  forbidden: [forbiddenStep, 6],
  unblock: [unblockStep, 12],
  suspend: [suspendStep, 12],
  key: [keyStep, 25],
  login: [loginStep, 5],
  invitation: [invitationStep, 4],
  signUp: [signUpStep, 8],
  erase: [eraseStep, 8],
  foreign: [foreignStep, 20],
  stranger: [strangerStep, 3],
  stale: [staleStep, 15],
  guard: [guardStep, 4],
  verify: [verifyStep, 3],
  pass: [passStep, 130],
  setClock: [setClockStep, 8],
  edge: [edgeStep, 12],
  restart: [restartStep, 4],
  crash: [crashStep, 4],
  backup: [backupStep, 1.5],
  restore: [restoreStep, 0.7],
  countedBurst: [countedBurst, 5],
  repeatedBurst: [repeatedBurst, 3],
  failuresBurst: [failuresBurst, 6],
  chatBurst: [chatBurst, 5],
  mixedBurst: [mixedBurst, 4],
  crashBurst: [(world: SimWorld) => mixedBurst(world, true), 1.5],
  revokedBurst: [revokedBurst, 2],
} as const satisfies Record<string, readonly [Step, number]>

type StepName = keyof typeof steps
const weights = Object.fromEntries(Object.entries(steps).map(([name, [, weight]]) => [name, weight])) as Record<
  StepName,
  number
>
const hostileWeights: Partial<Record<StepName, number>> = {
  modelChat: 60,
  modelLeave: 30,
  fileChat: 20,
  holdModel: 12,
  endChat: 10,
  modelBurst: 12,
  ownTool: 20,
  readSession: 3,
  deleteSession: 4,
  pass: 5,
  restart: 2,
  crash: 2,
}
const none = Object.fromEntries(Object.keys(weights).map((name) => [name, 0])) as typeof weights

function weightsOf({ leftOut }: SimEngine, isHostile: boolean): Record<StepName, number> {
  const all = isHostile ? { ...none, ...hostileWeights } : weights
  return { ...all, ...Object.fromEntries((leftOut?.steps ?? []).map((name) => [name, 0])) }
}
const fullCheckEvery = 100
/** Steps that interrupt work in progress. All others predict responses, so the work has to finish first. */
const interrupting: ReadonlySet<StepName> = new Set(['restart', 'crash', 'pass', 'setClock'])

let known: KnownPassword | undefined

export type Simulation = {
  seed: number
  operations: number
  /** Runs only chats with models by hostile users, with service failures in between. */
  isHostile?: boolean
  /** Runs the service in its own process and crashes it with kill -9. SQLite only. */
  inProcess?: boolean
  /** Number of services on one PostgreSQL database, on the server at `url` or on a new one. */
  postgres?: { nodes: number; url?: string | undefined }
  /** Called every 10 seconds with the number of completed operations. */
  onProgress?: (operations: number) => void
}
const progressMs = 10_000

/** Runs one world from its seed until it has completed the requested number of operations or a check fails. */
export async function simulate({ inProcess = false, postgres, ...world }: Simulation): Promise<SimReport> {
  gates.closeAll()
  const engine = postgres ? await postgresSimEngine(postgres) : sqliteSimEngine(inProcess)
  try {
    return await simulateOn(engine, world)
  } finally {
    await engine.close()
  }
}

type World = Pick<Simulation, 'seed' | 'operations' | 'isHostile' | 'onProgress'>

async function simulateOn(
  engine: SimEngine,
  { isHostile = false, onProgress, operations, seed }: World,
): Promise<SimReport> {
  const begun = performance.now()
  let reportedAt = begun
  const password = 'a simulated password'
  known ??= { password, hash: await hashPassword(password) }
  const stepWeights = weightsOf(engine, isHostile)
  const world = new SimWorld(seed, { engine, time: new MachineTime(startOfTime) })
  let [step, total] = [0, 0]
  let violation: SimReport['violation'] = null
  const violated = (what: string) => ({ what, atOperation: total, atStep: step, steps: world.lastSteps() })
  await world.open(known)
  try {
    for (; total < operations; step++) {
      world.random = new SimRandom(seed, step)
      total += await takeStep(world, { step, stepWeights })
      if (performance.now() - reportedAt < progressMs) continue
      reportedAt = performance.now()
      onProgress?.(total)
    }
    await world.quiesce()
    await checkModelMoney(world)
    await restartStep(world)
    await finishStep(world)
    if (isHostile) checkDay(world.checks, world.bills.check(world.audit.seen))
  } catch (error) {
    const what = error instanceof Error ? `${error.name}: ${error.message}\n${error.stack ?? ''}` : String(error)
    violation = violated(what)
  }
  await world.close().catch((error: unknown) => {
    violation ??= violated(`the end: ${String(error)}`)
  })
  await abandonedHaveEnded()
  const { clockMoves, crashes, operations: byKind, refusals, restarts, restores } = world
  const { seen } = world.audit
  const everybody = [...world.state.people, ...world.state.erased]
  return {
    engine: engine.name,
    nodes: engine.nodes,
    leftOut: engine.leftOut && `${engine.leftOut.steps.join(', ')}: ${engine.leftOut.why}`,
    seed,
    operations: byKind,
    total,
    refusals,
    restarts,
    crashes,
    restores,
    clockMoves,
    people: world.state.people.length,
    erased: world.state.erased.length,
    ...endsOf(seen),
    money: moneyOf(seen.transactions),
    models: violation ? null : world.bills.check(seen),
    balances: everybody.reduce((sum, { balance }) => sum + balance, 0),
    debts: world.model.debts,
    recharges: rechargesOf(world.state),
    owed: everybody.reduce((sum, { owed }) => sum + owed, 0),
    checks: world.checks.count,
    seconds: (performance.now() - begun) / 1000,
    violation,
  }
}

/** Takes one step, runs all checks and returns its number of operations. */
async function takeStep(
  world: SimWorld,
  { step, stepWeights }: { step: number; stepWeights: typeof weights },
): Promise<number> {
  const name = world.random.weighted(stepWeights)
  world.note(`— step ${step}: ${name}`)
  const [run] = steps[name]
  if (!interrupting.has(name)) await world.quiesce()
  const done = await run(world)
  const count = typeof done === 'number' ? done : 1
  world.did(name, count)
  world.refresh()
  if (step % fullCheckEvery === 0) {
    await world.quiesce()
    world.audit.checkAll()
    await checkModelMoney(world)
  }
  return count
}
