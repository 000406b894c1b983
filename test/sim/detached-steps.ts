import { ChatReader } from '../support/chat-reader.ts'
import type { TurnRow } from './audit-rows.ts'
import { ampleUnits, isLimitedBy, isPoor, leftWithin, mayEndEarly, shortOutcomes } from './chat-caps.ts'
import { unitsOfUsd } from './chat-cost.ts'
import { deltas, finishingScript } from './chat-scripts.ts'
import { checkEnd, checkLines, checkTerminal } from './chat-ends.ts'
import { anySession, foreseeChat, hasHeldChat, openChat, untilLines } from './chat-steps.ts'
import { crash, restartStep } from './restart-steps.ts'
import type { ChatStep } from './sim-agents.ts'
import { credentialHeaders, type SimCredential } from './sim-client.ts'
import type { SimPerson, SimSession } from './sim-state.ts'
import { passUntil } from './time-steps.ts'
import type { HeldChat, SimWorld } from './sim-world.ts'

// Chats that continue without a reader and are reread, retried and stopped by turn id, and chats without a session.

/** Maximum time until a turn's last events are stored. */
const lateMs = 2000

export type LeftTurn = { turnId: string; credential: SimCredential; read: string }

type Reading = { credential: SimCredential; path: string; body?: unknown; key?: string | null }

async function open(world: SimWorld, { body, credential, key = null, path }: Reading): Promise<ChatReader> {
  const { client } = world.at(world.anyNode())
  const headers = { ...credentialHeaders(client.origin, credential), ...(key !== null && { 'Idempotency-Key': key }) }
  return await ChatReader.open({ url: client.url, path, headers, body })
}

function read(world: SimWorld, { credential, turnId }: Omit<LeftTurn, 'read'>, after: number): Promise<ChatReader> {
  return open(world, { credential, path: `/api/chat/${turnId}/events?after=${after}` })
}

function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/).filter((line) => line.endsWith('\n'))
}

function rowOf(world: SimWorld, turnId: string): TurnRow {
  world.refresh()
  return world.checks.present(world.audit.seen.turns.get(turnId), `turn ${turnId} is there`)
}

function turnsOf(world: SimWorld, sessionId: string): number {
  world.refresh()
  return [...world.audit.seen.turns.values()].filter((row) => row.session_id === sessionId).length
}

/**
 * Rereads a finished turn from several positions. The part already read and the reread part must add up to the whole
 * stream, and the last event must match the ledger. If the process died during the turn, only its end may be stored, or
 * only a note that the events are gone.
 */
export async function checkReadAgain(world: SimWorld, left: LeftTurn, { isLost }: { isLost: boolean }): Promise<void> {
  const { checks, random } = world
  const known = linesOf(left.read)
  const turn = rowOf(world, left.turnId)
  checks.that(turn.settled_at !== null, `turn ${turn.id}, which was left, is over`)
  for (const after of new Set([0, known.length, random.between(0, known.length)])) {
    const reader = await read(world, left, after)
    await reader.all()
    const what = `the events of ${turn.id} after ${after}, of which ${known.length} were read`
    world.note(`${what}: ${reader.status} ${reader.text.slice(-200)}`)
    if (reader.status === 410) {
      checks.that(isLost && turn.outcome !== 'failed', `${what} are gone`)
      continue
    }
    if (reader.status === 204) {
      const end = known.length === 0 ? undefined : JSON.parse(known.at(-1)!)
      checks.that(after === known.length && (end?.type === 'done' || end?.type === 'error'), `${what} are none`)
      continue
    }
    // The process may have died before it stored the last events of a charged turn. The stream then has no end event.
    if (isLost && turn.outcome !== 'failed' && (await reader.wasCutOff())) continue
    checks.same([reader.status, await reader.wasCutOff()], [200, false], what)
    const rest = linesOf(reader.text)
    const seqs = reader.events.map(({ event }) => event.seq)
    checks.same(
      seqs,
      rest.map((_, n) => after + 1 + n),
      `the numbers of ${what}`,
    )
    // The process may have died before it stored all the events that were read.
    const common = Math.min(known.length - after, isLost ? rest.length - 1 : Infinity)
    checks.same(
      rest.slice(0, common).join(''),
      known.slice(after, after + common).join(''),
      `${what}, as they were read`,
    )
    checkEnd(world, turn, reader.events.at(-1)!.event)
  }
}

/** Starts a chat that continues on disconnect, reads some lines and disconnects. Undefined if the chat is rejected. */
export async function leaveChat(world: SimWorld, session: SimSession): Promise<LeftTurn | undefined> {
  const { random } = world
  const by = world.credentialOf(world.model.person(session.userId))
  const { steps } = finishingScript(world)
  const { client, reader, status } = await openChat(world, session, { by, steps, onDisconnect: 'continue' })
  if (!reader || status !== 200 || client.isDown) return undefined
  const [lines, until] = [random.between(0, 6), performance.now() + 2000]
  const { credential } = by
  const left: LeftTurn = { turnId: String(reader.headers['errand-turn-id']), credential, read: reader.text }
  while (!client.isDown) {
    left.read = reader.text
    const end = reader.events.at(-1)?.event.type
    if (reader.events.length >= lines || end === 'done' || end === 'error' || performance.now() > until) break
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  reader.leave()
  return left
}

type Detached = { chat: HeldChat; left: LeftTurn; session: SimSession; body: object; key: string | null }

/** Lets a reply continue without its reader, rereads it in every way, then ends it in one of several ways. */
export async function detachStep(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  const session = anySession(world)
  if (!session) return 0
  const person = model.person(session.userId)
  const lines = random.between(0, 5)
  const before = Array.from({ length: lines }, (): ChatStep => ({ do: 'text', delta: random.pick(deltas) }))
  const after = finishingScript(world)
  const gate = `${world.seed}-detached-${world.nextNumber()}`
  const steps: ChatStep[] = [...before, { do: 'gate', name: gate }, ...after.steps]
  const message = JSON.stringify(steps)
  const by = world.credentialOf(person)
  const ofLimits = model.leftOf({ person, key: by.key }, world.now)
  const free = Math.min(person.balance - person.held, leftWithin(session, null), ofLimits)
  if (hasHeldChat(world, person) || free < ampleUnits) return 0
  if (foreseeChat(world, session, { message, key: null, by }) !== 200) return 0
  const said = before.map((step) => ('delta' in step ? step.delta : '')).join('')
  model.expectedTurns.set(session.id, { ...after.expected, message, text: said + (after.expected.text ?? '') })
  const turns = turnsOf(world, session.id)
  const key = random.chance(0.5) ? `detached-${world.nextNumber()}` : null
  const opened = await openChat(world, session, { by, steps, key, onDisconnect: 'continue' })
  if (opened.refused !== 0) {
    checks.same(opened.status, opened.refused, 'the status of a chat with a bad credential')
    return 1
  }
  checks.same(opened.status, 200, `the status of a chat in ${session.id}`)
  if (key !== null) person.chatKeys.set(key, world.now)
  const reader = opened.reader!
  const turnId = String(reader.headers['errand-turn-id'])
  const chat = { reader, gate, person, sessionId: session.id, readLines: lines, node: opened.node, detached: turnId }
  world.chats.set(session.id, chat)
  await untilLines(reader, lines)
  reader.leave()
  const left = { turnId, credential: by.credential, read: reader.text }
  const body = { sessionId: session.id, message, onDisconnect: 'continue' }
  const detached: Detached = { chat, left, session, body, key }
  for (let looks = random.between(0, 2); looks > 0; looks--) await look(world, detached)
  checks.same(rowOf(world, turnId).settled_at, null, `the end of ${turnId}, which goes on without a reader`)
  await end(world, detached)
  checks.same(turnsOf(world, session.id), turns + 1, `turns of one message in ${session.id}`)
  world.checkSessionRow(session.id)
  return 1
}

/** Rereads by turn, session or Idempotency-Key. Each must return the same turn and the same events. */
async function look(world: SimWorld, detached: Detached): Promise<void> {
  const { checks } = world
  const { chat, left, session } = detached
  const [reader, after] = await readerOf(world, detached)
  checks.same([reader.status, reader.headers['errand-turn-id']], [200, left.turnId], `a look at ${left.turnId}`)
  await untilLines(reader, chat.readLines - after)
  const known = linesOf(left.read).slice(after)
  checks.same(reader.text, known.join(''), `what is read again in ${session.id} after ${after}`)
  reader.leave()
}

async function readerOf(world: SimWorld, of: Detached): Promise<[reader: ChatReader, after: number]> {
  const { body, chat, key, left, session } = of
  const { credential } = left
  const way = world.random.pick(['turn', 'session', ...(key === null ? [] : ['repeat', 'repeat'])])
  world.note(`read ${left.turnId} again, by ${way}`)
  if (way === 'repeat') return [await open(world, { credential, key, body, path: '/api/chat' }), 0]
  if (way === 'session') return [await open(world, { credential, path: `/api/sessions/${session.id}/stream` }), 0]
  const after = world.random.between(0, chat.readLines)
  return [await read(world, left, after), after]
}

async function end(world: SimWorld, detached: Detached): Promise<void> {
  const { checks, model, random } = world
  const { chat, key, left, session } = detached
  const { sessionId } = chat
  const way = random.pick(['finish', 'finish', 'stop', 'stop', 'restart', 'crash', 'crash'])
  world.note(`the turn ${left.turnId}, which nobody reads, is to ${way}`)
  if (way === 'restart') await restartStep(world)
  else if (way === 'crash') await crash(world)
  // If the turn ran on another node, it continues.
  const isLost = !world.chats.has(sessionId)
  if (isLost) {
    // Otherwise each reader would wait in real time for the last events of a turn that has just ended.
    if (random.chance(0.8)) await passUntil(world, world.now + lateMs + 1)
    return await checkReadAgain(world, left, { isLost: true })
  }
  const expected = model.expectedTurns.get(sessionId)!
  const mayStop = mayEndEarly(world, chat)
  world.chats.delete(sessionId)
  const [reader, after] = await readerOf(world, detached)
  checks.same(
    [reader.status, reader.headers['errand-turn-id']],
    [200, left.turnId],
    `reading ${left.turnId} to its end`,
  )
  if (way === 'stop') {
    model.expectedTurns.set(sessionId, { ...expected, outcomes: ['truncated'] })
    for (const isFirst of [true, false]) {
      const stop = { kind: 'stop', method: 'POST', path: `/api/chat/${left.turnId}/stop`, credential: left.credential }
      const { body, status } = await world.send(stop)
      checks.same([status, body.turnId], [200, left.turnId], 'a stop')
      if (isFirst) checks.same(body.stopped, true, `a stop of ${left.turnId}, which is open`)
    }
  } else {
    const outcomes: (typeof expected)['outcomes'] = mayStop ? ['finished', ...shortOutcomes] : ['finished']
    model.expectedTurns.set(sessionId, { ...expected, outcomes })
    await world.openGate(chat.gate, 'ok')
  }
  const lines = await reader.all()
  const terminal = checkLines(world, lines)
  await world.quiesce()
  const whole = linesOf(left.read).slice(0, after).join('') + reader.text
  checks.that(whole.startsWith(left.read), `${left.turnId} read again begins as it was read`)
  checkTerminal(world, session, terminal)
  if (way === 'stop') checks.same(terminal.error?.code, 'AGENT_INTERRUPTED', `the end of ${left.turnId}, by a stop`)
  await checkReadAgain(world, { ...left, read: whole }, { isLost: false })
  if (key === null) return
  const repeated = await open(world, { ...left, key, body: detached.body, path: '/api/chat' })
  await repeated.all()
  checks.same([repeated.status, repeated.text], [200, whole], `the reply to a repetition of ${left.turnId}`)
}

/** Checks that a turn without a session leaves only its receipt. */
function checkAlone(world: SimWorld, turnId: string): TurnRow {
  const { audit, checks } = world
  const turn = rowOf(world, turnId)
  checks.that(turn.settled_at !== null, `turn ${turnId} is settled before its answer`)
  const { messages, session } = audit.reader.withMessages(turn.session_id)
  checks.same([session, messages.length], [undefined, 0], `what is kept of ${turnId}, which has no session`)
  return turn
}

type Alone = { person: SimPerson; by: ReturnType<SimWorld['credentialOf']>; message: string; isStream: boolean }

function sendAlone(world: SimWorld, of: Alone & { key: string | null }): Promise<ChatReader> {
  const { by, isStream, key, message } = of
  const messages = [{ role: 'user', content: message }]
  const body = { model: 'sim', messages, ...(isStream && { stream: true }) }
  return open(world, { credential: by.credential, key, body, path: '/v1/chat/completions' })
}

/**
 * Sends a chat without a session in OpenAI's protocol, once or several times in parallel with the same key. Expects one
 * turn and one charge.
 */
export async function statelessStep(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  const person = world.person()
  const script = finishingScript(world)
  const isStream = random.chance(0.5)
  const by = world.credentialOf(person)
  const left = Math.min(person.balance - person.held, model.leftOf({ person, key: by.key }, world.now))
  const isSure = left >= ampleUnits && person.owed === 0 && model.used(person, world.now) < 10
  const isShort = isPoor(world, person) || isLimitedBy(world, { person, key: by.key })
  model.sentAlone.delete(person.userId)
  model.aloneSent({ person, key: by.key }, isShort ? ['finished', ...shortOutcomes] : ['finished'], world.now)
  const count = isSure && random.chance(0.4) ? random.between(2, 4) : 1
  const key = count > 1 ? `alone-${world.nextNumber()}` : null
  const alone = { person, by, message: JSON.stringify(script.steps), isStream, key }
  const refused = model.refusedCredential(person, by.key, world.now)
  const answers = await Promise.all(Array.from({ length: count }, () => sendAlone(world, alone)))
  for (const answer of answers) await answer.all()
  await world.quiesce()
  const statuses = answers.map(({ status }) => status)
  world.note(`${count} of ${alone.message.slice(0, 160)} without a session → ${statuses.join(' ')}`)
  if (refused !== 0) checks.same(new Set(statuses).size, 1, 'the status of chats with a bad credential')
  else if (isSure)
    checks.that(
      statuses.every((status) => status === 200),
      `chats without a session: ${statuses.join()}`,
    )
  const turnIds = new Set<string>()
  for (const answer of answers.filter(({ status }) => status === 200)) {
    const turnId = String(answer.headers['errand-turn-id'])
    turnIds.add(turnId)
    const turn = checkAlone(world, turnId)
    const isWhole = isStream
      ? answer.text.endsWith('data: [DONE]\n\n') && !(await answer.wasCutOff())
      : JSON.parse(answer.text).object === 'chat.completion'
    checks.that(isWhole, `the answer to ${turnId} is whole`)
    if (!isStream)
      checks.same(unitsOfUsd(String(answer.headers['errand-cost-usd'])), turn.cost, `the cost of ${turnId}`)
  }
  checks.that(turnIds.size <= 1, `one message without a session made ${turnIds.size} turns`)
  model.sentAlone.delete(person.userId)
  return count
}

/** Sends one such chat within a burst, during which a crash may lose the response. */
export async function statelessOnce(world: SimWorld, person: SimPerson): Promise<void> {
  const by = world.credentialOf(person)
  world.model.aloneSent({ person, key: by.key }, ['finished', 'truncated', 'failed'], world.now)
  const message = JSON.stringify(finishingScript(world).steps)
  const alone = { person, by, message, isStream: world.random.chance(0.5), key: null }
  const answer = await sendAlone(world, alone).catch(() => undefined)
  await answer?.all()
}
