import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { checkLines, isPoor } from './chat-steps.ts'
import type { ExpectedTurn } from './sim-model.ts'
import { newSimFolder } from './sim-host.ts'
import type { TaskRow } from './audit-rows.ts'
import type { SeenRows } from './row-audit.ts'
import type { SimWorld } from './sim-world.ts'

const recoveryMs = 5000

/** Stops as SIGTERM does and starts again on the same data: what runs is interrupted, or gets to its end first. */
export async function restartStep(world: SimWorld): Promise<void> {
  const { checks, host, model, random } = world
  const hastens = random.chance(0.6)
  world.note(`stop${hastens ? ' at once' : ' when all is done'}, and start again`)
  world.refresh()
  world.audit.checkAll()
  interruptAll(world, { isCrash: false, hastens })
  const waiting = [...world.chats.values()].filter(({ person }) => isPoor(world, person))
  const poor = new Set(waiting.map(({ sessionId }) => sessionId))
  world.isDown = true
  // A client that reads no more would hold the stop up; these read to the end.
  const stopped = host.stop(hastens)
  if (!hastens) for (const gate of openGates(world)) await world.openGate(gate, 'ok')
  await stopped
  for (const { reader, sessionId } of world.chats.values()) {
    const terminal = checkLines(world, await reader.all())
    const what = `the end of the chat in ${sessionId} by a stop`
    if (hastens) checks.same(terminal.error?.code, 'AGENT_INTERRUPTED', what)
    else if (terminal.type !== 'done') {
      checks.same([terminal.error.code, poor.has(sessionId)], ['INSUFFICIENT_BALANCE', true], what)
    }
  }
  world.client.cut()
  world.chats.clear()
  model.timeIs(world.now)
  world.refresh()
  checkSecrets(world)
  await again(world, host.dataDir)
}

/** Everything that waits goes on: nothing is left under way, and nothing is held. */
export async function finishStep(world: SimWorld): Promise<void> {
  const { audit, checks } = world
  for (const gate of openGates(world)) await world.openGate(gate, 'ok')
  await world.quiesce()
  checks.same([audit.seen.openTasks.size, audit.seen.openTurns.size], [0, 0], 'tasks and turns that have no end')
  for (const { held, userId } of world.state.people) checks.same(held, 0, `what ${userId} holds in the end`)
  audit.checkAll()
  checkSecrets(world)
}

function openGates(world: SimWorld): string[] {
  const tasks = world.openTasks().map((id) => world.state.tasks.get(id)!.asked.gate)
  const chats = [...world.chats.values()].map(({ gate }) => gate)
  return [...tasks, ...chats].filter((gate) => gate !== null && !world.model.gateEnds.has(gate)) as string[]
}

/** Ends without a stop, as kill -9 does, perhaps with requests under way, and starts on what the disk holds. */
export async function crashStep(world: SimWorld): Promise<void> {
  world.note('crash, and start again')
  world.refresh()
  await crash(world)
}

export async function crash(world: SimWorld): Promise<void> {
  world.isDown = true
  world.crashes++
  world.model.areNewInterrupted = true
  interruptAll(world, { isCrash: true, hastens: true })
  const { host } = world
  world.audit.close()
  const dataDir = await host.crash()
  world.client.cut()
  for (const { reader } of world.chats.values()) reader.leave()
  world.chats.clear()
  await start(world, dataDir, world.audit.seen)
}

/** What is open may now end as interrupted, and what a crash finds at work and may not be repeated must. */
function interruptAll(world: SimWorld, { hastens, isCrash }: { isCrash: boolean; hastens: boolean }): void {
  for (const id of world.openTasks()) {
    const task = world.state.tasks.get(id)!
    const row = world.audit.seen.tasks.get(id)
    // A stop waits no longer than the timeouts, by a clock that the simulation may have set forward.
    task.mayInterrupt = hastens || world.now - (row?.started_at ?? 0) > 200_000
    // What was queued may have been taken up since it was looked at, so only what was surely at work must end.
    task.mustEnd = isCrash && row !== undefined && isStuck(world, row)
  }
  for (const { person, sessionId } of world.chats.values()) {
    const ends: ExpectedTurn['outcomes'] = isPoor(world, person) ? ['finished', 'truncated'] : ['finished']
    world.model.expectedTurns.set(sessionId, { outcomes: hastens ? ['failed'] : ends })
  }
}

/** It is at work, waits at a gate, and may not be run again. */
function isStuck({ model, state }: SimWorld, { id, status }: TaskRow): boolean {
  const { endpointId, gate } = state.tasks.get(id)!.asked
  return status === 'processing' && endpointId === 'sim.held' && !model.gateEnds.has(gate!)
}

async function again(world: SimWorld, dataDir: string): Promise<void> {
  world.audit.close()
  await start(world, dataDir, world.audit.seen)
}

async function start(world: SimWorld, dataDir: string, seen: SeenRows): Promise<void> {
  const newest = seen.transactions.at(-1)?.created_at ?? 0
  await world.run(dataDir, seen)
  world.restarts++
  world.checks.that(world.now >= newest, 'time does not run backwards over a restart')
  await world.quiesce(recoveryMs)
  world.model.areNewInterrupted = false
  for (const task of world.state.tasks.values()) {
    if (task.mustEnd) world.checks.same(task.errorCode, 'AGENT_INTERRUPTED', `the end of ${task.id} by a crash`)
    task.mayInterrupt = false
    task.mustEnd = false
  }
  world.audit.checkAll()
  for (const id of [...world.state.sessions.keys()].slice(-30)) world.checkSessionRow(id)
  if (world.admin.token !== '') await world.adminCredential()
}

/** A copy of everything, made beside the running service. */
export async function backupStep(world: SimWorld): Promise<void> {
  await world.quiesce()
  world.dropBackup()
  const folder = newSimFolder()
  const file = join(folder, 'errand.db')
  world.note('backup')
  await world.beside((store) => store.backup(file))
  const payloads = join(world.host.dataDir, 'payloads')
  if (existsSync(payloads)) cpSync(payloads, join(folder, 'payloads'), { recursive: true })
  world.refresh()
  world.backup = { folder, state: structuredClone(world.state), seen: structuredClone(world.audit.seen) }
}

/** Everything is as it was at the time of the backup, and what was open then ends as after a crash. */
export async function restoreStep(world: SimWorld): Promise<void> {
  const { backup, host, model } = world
  if (!backup) return await backupStep(world)
  world.note('restore the backup')
  world.restores++
  world.isDown = true
  interruptAll(world, { isCrash: false, hastens: true })
  await host.stop(true)
  world.client.cut()
  for (const { reader } of world.chats.values()) reader.leave()
  world.chats.clear()
  world.audit.close()
  rmSync(host.dataDir, { recursive: true, force: true })
  const dataDir = newSimFolder()
  rmSync(dataDir, { recursive: true })
  renameSync(backup.folder, dataDir)
  const { seen, state } = backup
  world.backup = undefined
  model.state = state
  for (const id of seen.openTasks) {
    const task = state.tasks.get(id)!
    task.mayInterrupt = true
    task.mustEnd = isStuck(world, seen.tasks.get(id)!)
  }
  for (const id of seen.openTurns) model.expectedTurns.set(seen.turns.get(id)!.session_id, { outcomes: ['failed'] })
  await start(world, dataDir, seen)
}

/** No key and no cookie stands in clear in what is stored. */
function checkSecrets(world: SimWorld): void {
  const logins = world.state.people.flatMap((person) => person.logins.slice(-5).map(({ token }) => token))
  const files = readdirSync(world.host.dataDir).filter((name) => name.startsWith('errand.db'))
  for (const name of files) {
    const bytes = readFileSync(join(world.host.dataDir, name))
    // Every key begins so, and everybody has the same password.
    for (const secret of ['errand_sk_', world.password, ...logins])
      world.checks.that(!bytes.includes(secret), `${name} holds a credential in clear`)
  }
}
