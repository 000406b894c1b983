import { setTimeout as delay } from 'node:timers/promises'
import type { TaskRow } from './audit-rows.ts'
import { connectorOf, credentialOf, prepareRich } from './model-chats.ts'
import { unblock } from './money-steps.ts'
import { crash } from './restart-steps.ts'
import type { SimEndpoint } from './sim-agents.ts'
import { Violation } from './sim-checks.ts'
import { simConcurrency } from './sim-host.ts'
import type { AskedTask, SimPerson } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'
import { bodyOf, checkAccepted, draftTask, releaseStep } from './task-steps.ts'

// Tasks that call their user's own tools. Such a call may already have given the user the answer. So whatever the user
// does afterwards, at most one such charge a day is refunded.

const waitMsMax = 15_000
const kinds = ['works', 'works', 'long', 'drops', 'garbage'] as const

/**
 * Runs a task with a connector until it completes, fails, is canceled, reaches the user's timeout, or is interrupted.
 */
export async function toolTaskStep(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  if (!hasSlot(world)) return await releaseInstead(world)
  const person = await prepareRich(world, 2)
  const isBlocked = model.isBlocked(person, world.now) || person.connectorsBlockedUntil > world.now
  if (isBlocked && random.chance(0.7)) await unblock(world, person)
  const connectorId = await connectorOf(world, { kind: random.pick(kinds), person })
  const way = random.weighted({ ok: 4, fail: 2, cancel: 5, crash: 1, time: 0.5 })
  const asked = draft(world, { person, endpointId: 'sim.tools', connectorId, calls: random.chance(0.7) })
  if (way === 'time') asked.timeoutSeconds = 1
  const taskId = await create(world, { asked, person })
  if (taskId === undefined) return 1
  const { calls } = asked.tools!
  await begun(world, { taskId, calls })
  const second = draft(world, { person, endpointId: 'sim.tools', connectorId, calls: random.chance(0.5) })
  // Skip this before a crash, because a task queued behind another one would keep the restart from settling.
  const secondId = way !== 'crash' && random.chance(0.4) ? await create(world, { asked: second, person }) : undefined
  if (secondId !== undefined) await world.openGate(second.gate!, 'ok')
  world.note(`${taskId}, which ${calls ? 'has called' : 'calls no tool'}, is to end by ${way}`)
  if (way === 'cancel') await cancel(world, { taskId, person, calls })
  if (way === 'crash') await crash(world)
  if (way === 'time') await timeUp(world, { taskId, calls })
  if (model.state.tasks.get(taskId)!.errorCode === null)
    await world.openGate(asked.gate!, way === 'fail' ? 'fail' : 'ok')
  await world.quiesce(waitMsMax)
  const row = rowOf(world, taskId)
  if (way === 'fail') {
    const blockedUntil = calls ? row.completed_at! + 86_400_000 : person.connectorsBlockedUntil
    checks.same(person.connectorsBlockedUntil, blockedUntil, `until when ${taskId} blocks tasks with connectors`)
  }
  if (secondId === undefined) return 1
  const other = rowOf(world, secondId)
  checks.same(
    other.error_code === 'CONNECTORS_BLOCKED',
    way === 'fail' && calls,
    `${secondId} behind ${taskId} is blocked`,
  )
  const startedAt = other.started_at ?? Infinity
  checks.that(
    startedAt >= row.completed_at!,
    `${secondId} starts when ${taskId} has ended, one with connectors at a time`,
  )
  return 2
}

/** Checks that waiting for a silent server does not count as the agent's own time and does not end the run. */
export async function patientTaskStep(world: SimWorld): Promise<number> {
  const { checks } = world
  if (!hasSlot(world)) return await releaseInstead(world)
  const person = await prepareRich(world, 1)
  const connectorId = await connectorOf(world, { kind: 'hangs', person })
  const asked = draft(world, { person, endpointId: 'sim.patient', connectorId, calls: true })
  const taskId = await create(world, { asked, person })
  if (taskId === undefined) return 1
  await world.quiesce(waitMsMax)
  checks.same(rowOf(world, taskId).status, 'completed', `${taskId}, whose connector does not answer, is`)
  return 1
}

/** Whether another task can start in addition to those waiting at gates. */
function hasSlot(world: SimWorld): boolean {
  return world.openTasks().length < simConcurrency
}

async function releaseInstead(world: SimWorld): Promise<number> {
  await releaseStep(world)
  return 1
}

type Draft = { person: SimPerson; endpointId: SimEndpoint; connectorId: string; calls: boolean }

function draft(world: SimWorld, { calls, connectorId, endpointId, person }: Draft): AskedTask {
  const { n, ...asked } = draftTask(world, person, endpointId)
  const gate = endpointId === 'sim.tools' ? `${world.seed}-task-${n}` : null
  const params = { n, ...(gate !== null && { gate, calls }) }
  return { ...asked, n, key: null, gate, params, tools: { connectorId, calls } }
}

/** Sends the request and returns the task id; undefined if the request is rejected as expected. */
async function create(world: SimWorld, of: { asked: AskedTask; person: SimPerson }): Promise<string | undefined> {
  const { asked, person } = of
  const spender = { person, key: person.keys[0]! }
  world.model.sent(asked, spender, world.now)
  const foreseen = world.model.foreseeTask(asked, spender, world.now)
  const answer = await world.send({
    kind: 'task',
    method: 'POST',
    path: '/api/tasks',
    credential: credentialOf(person),
    body: bodyOf(asked),
  })
  world.checks.same(answer.status, foreseen.status, `the status of ${asked.endpointId} with a connector`)
  if (answer.status !== 200) return undefined
  checkAccepted(world, answer)
  return String(answer.body.taskId)
}

function rowOf(world: SimWorld, taskId: string): TaskRow {
  world.refresh()
  return world.audit.seen.tasks.get(taskId)!
}

async function rowWhen(world: SimWorld, taskId: string, is: (row: TaskRow) => boolean): Promise<TaskRow> {
  const until = performance.now() + waitMsMax
  for (;;) {
    const row = rowOf(world, taskId)
    if (is(row)) return row
    if (performance.now() > until) throw new Violation(`${taskId} is ${JSON.stringify(row)}`)
    await delay(1)
  }
}

/** Waits until an agent runs the task and, if the run calls its connector, the call is recorded. */
async function begun(world: SimWorld, { calls, taskId }: { taskId: string; calls: boolean }): Promise<void> {
  await rowWhen(world, taskId, (row) => row.status === 'processing' && (!calls || row.cancelable_until !== null))
}

type Cancel = { taskId: string; person: SimPerson; calls: boolean }

async function cancel(world: SimWorld, { calls, person, taskId }: Cancel): Promise<void> {
  const { checks } = world
  const task = world.state.tasks.get(taskId)!
  task.isCanceled = !calls
  const path = `/api/tasks/${taskId}/cancel`
  const answer = await world.send({ kind: 'cancel', method: 'POST', path, credential: credentialOf(person) })
  checks.same(
    answer.status,
    calls ? 409 : 200,
    `the status of a cancel of ${taskId}, which ${calls ? 'has' : 'has not'} called`,
  )
  world.refresh()
  if (!calls) checks.same(task.errorCode, 'CANCELED', `how ${taskId} ended`)
}

/** Checks that the user's timeout ends a run only if the run has not called a connector. */
async function timeUp(world: SimWorld, { calls, taskId }: { taskId: string; calls: boolean }): Promise<void> {
  if (!calls) return void (await rowWhen(world, taskId, (row) => row.completed_at !== null))
  await delay(1500)
  world.checks.same(rowOf(world, taskId).completed_at, null, `the end of ${taskId}, which has called a connector`)
}
