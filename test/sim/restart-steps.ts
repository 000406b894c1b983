import { cpSync, existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { mayEndEarly, shortCodes, shortOutcomes } from './chat-caps.ts'
import { checkLines } from './chat-ends.ts'
import { endChat } from './chat-steps.ts'
import { checkModelMoney, metricsBegin } from './hostile-steps.ts'
import { simRetries } from './sim-agents.ts'
import type { ExpectedTurn } from './sim-state.ts'
import { newSimFolder } from './sim-host.ts'
import type { TaskRow } from './audit-rows.ts'
import type { SeenRows } from './row-audit.ts'
import type { HeldChat, SimWorld } from './sim-world.ts'

/** Returns one random node or all nodes. */
function someNodes(world: SimWorld): number[] {
  const { engine, random } = world
  return engine.nodes === 1 || random.chance(0.3) ? world.allNodes() : [world.anyNode()]
}

function chatsOf(world: SimWorld, nodes: readonly number[]): HeldChat[] {
  return [...world.chats.values()].filter(({ node }) => nodes.includes(node))
}

/**
 * Stops the service as SIGTERM does, and restarts it on the same data. Running work is interrupted or completes first.
 */
export async function restartStep(world: SimWorld): Promise<void> {
  const { checks, model, random } = world
  const hastens = random.chance(0.6)
  const nodes = someNodes(world)
  world.note(`stop${hastens ? ' at once' : ' when all is done'}, and start again: ${nodes.join(', ')}`)
  // Other nodes may still be running. Wait until everything is at a gate.
  if (world.engine.nodes > 1) await world.quiesce()
  world.refresh()
  world.audit.checkAll()
  interruptAll(world, { isCrash: false, hastens, nodes })
  const chats = chatsOf(world, nodes)
  const poor = new Set(chats.filter((chat) => mayEndEarly(world, chat)).map(({ sessionId }) => sessionId))
  const hosts = nodes.map((node) => world.at(node))
  for (const { client } of hosts) client.isDown = true
  // Clients keep reading meanwhile, because one that stops reading would delay the shutdown.
  const stopped = Promise.all(hosts.map(({ host }) => host.stop(hastens)))
  if (!hastens) for (const gate of openGates(world, nodes)) await world.openGate(gate, 'ok')
  await stopped
  for (const { detached, reader, sessionId } of chats) {
    world.chats.delete(sessionId)
    if (detached !== undefined) continue
    const terminal = checkLines(world, await reader.all())
    const what = `the end of the chat in ${sessionId} by a stop`
    if (hastens) checks.same(terminal.error?.code, 'AGENT_INTERRUPTED', what)
    else if (terminal.type !== 'done') {
      checks.same([shortCodes.includes(terminal.error.code), poor.has(sessionId)], [true, true], what)
    }
  }
  for (const { client } of hosts) client.cut()
  model.timeIs(world.now)
  world.refresh()
  checkSecrets(world)
  world.closeAudit()
  await start(world, world.host.dataDir, { nodes, seen: world.audit.seen })
  checkKept(world)
}

/** Lets everything that waits continue, until nothing is in progress or held. */
export async function finishStep(world: SimWorld): Promise<void> {
  const { audit, checks } = world
  // Restarts end only the chats of the nodes that they stop.
  for (const chat of world.chats.values()) await endChat(world, chat, 'finish')
  for (const gate of openGates(world, world.allNodes())) await world.openGate(gate, 'ok')
  await world.quiesce()
  checks.same([audit.seen.openTasks.size, audit.seen.openTurns.size], [0, 0], 'tasks and turns that have no end')
  for (const { held, userId } of world.state.people) checks.same(held, 0, `what ${userId} holds in the end`)
  audit.checkAll()
  await checkModelMoney(world)
  checkSecrets(world)
}

/** Returns the gates of work that these nodes run or may take over. */
function openGates(world: SimWorld, nodes: readonly number[]): string[] {
  const tasks = world.openTasks().filter((id) => mayBeAt(world, id, nodes))
  const gates = [
    ...tasks.map((id) => world.state.tasks.get(id)!.asked.gate),
    ...chatsOf(world, nodes).map(({ gate }) => gate),
  ]
  return gates.filter((gate) => gate !== null && !world.model.gateEnds.has(gate)) as string[]
}

function mayBeAt(world: SimWorld, taskId: string, nodes: readonly number[]): boolean {
  const row = world.audit.seen.tasks.get(taskId)
  const node = row && world.engine.nodeOf(row, world.now)
  return node === undefined || nodes.includes(node)
}

/** Crashes nodes as kill -9 would, sometimes with requests in flight, and restarts them from what is on disk. */
export async function crashStep(world: SimWorld): Promise<void> {
  world.refresh()
  await crash(world)
  checkKept(world)
}

export async function crash(world: SimWorld): Promise<void> {
  const { audit, engine, model } = world
  const nodes = someNodes(world)
  world.note(`crash, and start again: ${nodes.join(', ')}`)
  const hosts = nodes.map((node) => world.at(node))
  for (const { client } of hosts) client.isDown = client.isKilled = true
  world.crashes++
  model.areNewInterrupted = true
  interruptAll(world, { isCrash: true, hastens: true, nodes })
  world.closeAudit()
  let { dataDir } = world.host
  for (const { host } of hosts) dataDir = await host.crash()
  for (const { client } of hosts) client.cut()
  for (const { reader, sessionId } of chatsOf(world, nodes)) {
    reader.leave()
    world.chats.delete(sessionId)
  }
  for (const node of nodes) await engine.nodeIsGone(node, world.now)
  await start(world, dataDir, { nodes, seen: audit.seen })
}

type Interruption = { isCrash: boolean; hastens: boolean; nodes: readonly number[] }

/** Allows open work to end as interrupted. After a crash, running work without attempts left must end that way. */
function interruptAll(world: SimWorld, { hastens, isCrash, nodes }: Interruption): void {
  for (const id of world.openTasks()) {
    const task = world.state.tasks.get(id)!
    const row = world.audit.seen.tasks.get(id)
    // A shutdown waits for running work only until its timeout, and the simulation may have set the clock forward.
    const mayInterrupt = hastens || world.now - (row?.started_at ?? 0) > 200_000
    task.mayInterrupt = mayInterrupt && mayBeAt(world, id, nodes)
    // Queued tasks may have started since the last poll, so only tasks that are known to be running must end.
    task.mustEnd = isCrash && row !== undefined && isStuck(world, row) && mayBeAt(world, id, nodes)
  }
  for (const chat of chatsOf(world, nodes)) {
    const { sessionId } = chat
    const ends: ExpectedTurn['outcomes'] = mayEndEarly(world, chat) ? ['finished', ...shortOutcomes] : ['finished']
    world.model.expectedTurns.set(sessionId, { outcomes: hastens ? ['failed'] : ends })
    if (hastens) interruptTurns(world, sessionId)
  }
}

/** Expects the turns in progress to fail and to be free. */
function interruptTurns({ audit, bills }: SimWorld, sessionId: string): void {
  for (const id of audit.seen.openTurns) {
    if (audit.seen.turns.get(id)!.session_id === sessionId) bills.interrupted(id)
  }
}

/** Whether the task is running, waits at a gate and has no attempts left. */
function isStuck({ model, state }: SimWorld, { attempt, id, queued, status }: TaskRow): boolean {
  const { endpointId, gate } = state.tasks.get(id)!.asked
  const isAtWork = status === 'processing' && queued === 0
  return isAtWork && attempt > simRetries(endpointId) && gate !== null && !model.gateEnds.has(gate)
}

type Start = { nodes: readonly number[]; seen: SeenRows }

async function start(world: SimWorld, dataDir: string, { nodes, seen }: Start): Promise<void> {
  const newest = seen.transactions.at(-1)?.created_at ?? 0
  await world.run(dataDir, { nodes, seen })
  world.restarts++
  world.checks.that(world.now >= newest, 'time does not run backwards over a restart')
  await world.quiesce(world.engine.recoveryMs)
  world.model.areNewInterrupted = false
  for (const task of world.state.tasks.values()) {
    if (task.mustEnd) world.checks.same(task.errorCode, 'AGENT_INTERRUPTED', `the end of ${task.id} by a crash`)
    task.mayInterrupt = false
    task.mustEnd = false
  }
  if (world.admin.token !== '') await world.adminCredential()
  await metricsBegin(world)
}

/** Checks after a start, with nothing in progress, that no data was lost. */
export function checkKept(world: SimWorld): void {
  world.audit.checkAll()
  for (const id of [...world.state.sessions.keys()].slice(-30)) world.checkSessionRow(id)
}

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

/** Restores the backup. Work that was open at the time of the backup then ends as after a crash. */
export async function restoreStep(world: SimWorld): Promise<void> {
  const { backup, host, model } = world
  if (!backup) return await backupStep(world)
  world.note('restore the backup')
  world.restores++
  const nodes = world.allNodes()
  const { client } = world.at(0)
  client.isDown = true
  interruptAll(world, { isCrash: false, hastens: true, nodes })
  await host.stop(true)
  client.cut()
  for (const { reader } of world.chats.values()) reader.leave()
  world.chats.clear()
  world.closeAudit()
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
  for (const id of seen.openTurns) {
    model.expectedTurns.set(seen.turns.get(id)!.session_id, { outcomes: ['failed'] })
    world.bills.interrupted(id)
  }
  await start(world, dataDir, { nodes, seen })
  checkKept(world)
}

/** Checks that no key or cookie is stored in plain text. */
function checkSecrets(world: SimWorld): void {
  const logins = world.state.people.flatMap((person) => person.logins.slice(-5).map(({ token }) => token))
  // Searches for the prefixes of all keys, the shared password, and login tokens.
  const places = world.audit.reader.placesOf(['errand_sk_', 'errand_pk_', world.password, ...logins])
  world.checks.same(places, [], 'files or tables that hold a credential in clear')
}
