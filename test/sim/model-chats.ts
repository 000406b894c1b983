import { setTimeout as delay } from 'node:timers/promises'
import { ChatReader } from '../support/chat-reader.ts'
import { usdOfUnits } from './chat-cost.ts'
import { denseText, englishText, plainScript, someWords, type Density, type ModelScript } from './model-answers.ts'
import { newSession } from './session-steps.ts'
import { modelStepsMax, simRatesOf, type SimModelAgent } from './sim-agents.ts'
import { Violation } from './sim-checks.ts'
import { credentialHeaders, type SimCredential } from './sim-client.ts'
import type { ExpectedTurn, SimPerson, SimSession } from './sim-state.ts'
import { numberedMessage } from './sim-provider.ts'
import type { ToolServerKind } from './sim-tool-server.ts'
import type { SimWorld } from './sim-world.ts'

// People who chat with models, their sessions, and chats whose provider follows a script.

const richUnits = 500_000
const arrivalMsMax = 10_000
/** Max messages per session, because all of them are part of the next prompt. */
const messagesMax = 8

export function peopleOf(world: SimWorld): { rich: SimPerson; poor: SimPerson } {
  const [rich, poor] = world.state.people.filter(({ isOfModels }) => isOfModels)
  return { rich: rich!, poor: poor! }
}

/** Returns the person's first key, which no step revokes. */
export function credentialOf(person: SimPerson): SimCredential {
  return { kind: 'key', token: person.keys[0]!.token }
}

/** Adjusts the free balance to exactly `free`, and waits until `chats` more executions are allowed. */
export async function prepare(world: SimWorld, person: SimPerson, { chats, free }: { chats: number; free: number }) {
  const amount = free - (person.balance - person.held)
  if (amount !== 0) {
    world.model.askCredit(person.userId, amount)
    const { status } = await world.send({
      kind: 'credit',
      method: 'POST',
      path: `/api/users/${person.userId}/credit`,
      credential: await world.adminCredential(),
      body: { amountUsd: usdOfUnits(amount), reason: 'For models' },
    })
    world.checks.same(status, 200, `the status of a credit of ${amount} for ${person.userId}`)
    world.refresh()
  }
  // If the clock was set back, it runs at half speed, so this may take several rounds.
  while (world.model.used(person, world.now) + chats > 10) await world.host.moveTime(60_000, 0)
}

export async function prepareRich(world: SimWorld, chats: number): Promise<SimPerson> {
  const { rich } = peopleOf(world)
  const free = rich.balance - rich.held
  await prepare(world, rich, { chats, free: free < richUnits / 2 ? richUnits : free })
  return rich
}

/** Returns `count` sessions with the model, none with a turn in progress. */
export async function sessionsOf(
  world: SimWorld,
  of: { count: number; agentId?: SimModelAgent; kind?: ToolServerKind; person: SimPerson },
): Promise<SimSession[]> {
  const { agentId = 'model', count, kind, person } = of
  const connectorIds = kind && [await connectorOf(world, { kind, person })]
  const isUsable = (session: SimSession) =>
    session.agentId === agentId &&
    session.userId === person.userId &&
    !session.isDeleted &&
    !world.chats.has(session.id) &&
    session.messageCount < messagesMax &&
    JSON.stringify(session.metadata['connectorIds']) === JSON.stringify(connectorIds) &&
    world.model.sessionStatus(session, false, world.now) === 'active'
  const usable = [...world.state.sessions.values()].filter(isUsable).slice(-count)
  while (usable.length < count) usable.push(await newModelSession(world, { person, agentId, connectorIds }))
  return usable
}

type NewModelSession = { person: SimPerson; agentId: SimModelAgent; connectorIds?: string[] | undefined }

export async function newModelSession(world: SimWorld, of: NewModelSession): Promise<SimSession> {
  const { agentId, connectorIds, person } = of
  const metadata = connectorIds ? { connectorIds } : {}
  const { body, status } = await world.send({
    kind: 'session',
    method: 'POST',
    path: '/api/sessions',
    credential: credentialOf(person),
    body: { agentId, metadata },
  })
  world.checks.same(status, 200, 'the status of a new session with a model')
  const session = newSession({
    id: String(body.sessionId),
    userId: person.userId,
    agentId,
    metadata,
    at: world.now,
  })
  world.state.sessions.set(session.id, session)
  return session
}

export async function connectorOf(
  world: SimWorld,
  { kind, person }: { kind: ToolServerKind; person: SimPerson },
): Promise<string> {
  const known = person.connectors.get(kind)
  if (known !== undefined) return known
  const { body, status } = await world.send({
    kind: 'connector',
    method: 'POST',
    path: '/api/connectors',
    credential: credentialOf(person),
    body: { name: kind, url: world.toolServer.urlOf(kind), auth: { type: 'none' } },
  })
  world.checks.same(status, 200, `the status of a connector to a server that ${kind}`)
  person.connectors.set(kind, String(body.id))
  return String(body.id)
}

type Message = {
  session: SimSession
  scripts: readonly ModelScript[]
  text: string
  expected: ExpectedTurn
  mayFail?: boolean
  maxTokens?: number
  files?: readonly object[]
  node?: number
}

type Opened = { n: number; reader: ChatReader; turnId: string | null; node: number; message: string }

/** Sends the message and returns its reader and turn id; the turn id is null if the service rejects the message. */
export async function open(world: SimWorld, of: Message): Promise<Opened> {
  const { expected, files, mayFail = false, maxTokens, node = world.anyNode(), scripts, session, text } = of
  const n = world.nextNumber()
  const message = numberedMessage(n, text)
  const { client } = world.at(node)
  world.provider.expect(n, scripts)
  world.model.expectedTurns.set(session.id, { ...expected, message })
  const reader = await ChatReader.open({
    url: client.url,
    body: {
      sessionId: session.id,
      message: files ? [{ type: 'text', text: message }, ...files] : message,
      ...(maxTokens !== undefined && { params: { maxTokens } }),
    },
    headers: credentialHeaders(client.origin, credentialOf(world.model.person(session.userId))),
  })
  world.note(`model chat ${n} in ${session.id} ${JSON.stringify(scripts).slice(0, 200)} → ${reader.status}`)
  world.refresh()
  const turns = [...world.audit.seen.turns.values()]
  const turnId = reader.status === 200 ? turns.findLast((row) => row.session_id === session.id)!.id : null
  world.bills.sent(n, { turnId, mayFail, isReadOn: session.agentId === 'hidden', rates: simRatesOf(session.agentId) })
  return { n, reader, turnId, node, message }
}

/** Returns the text of all calls, if none is cut off. */
export function textOf(scripts: readonly ModelScript[]): string {
  return scripts.flatMap(({ text = [] }) => text).join('')
}

/** Prepends zero or more model calls that each call the agent's own tool. */
export function withTools(world: SimWorld, { density, last }: { density: Density; last: ModelScript }): ModelScript[] {
  const { random } = world
  const before = random.chance(0.5) ? 0 : random.between(1, modelStepsMax - 1)
  const calls = Array.from({ length: before }, () => plainScript(random, { density, calls: ['look'] }))
  return [...calls, last]
}

export type Gated = Opened & { gate: string }

export async function openGated(world: SimWorld, session: SimSession, { isExact = false } = {}): Promise<Gated> {
  const { random } = world
  const gate = `${world.seed}-model-${world.nextNumber()}`
  const before = random.pick(['head', 'thought', 'text', 'rest'] as const)
  const bytes = random.pick([20, 200, 4000, 20_000])
  const { density, text } = isExact ? { density: 'o200k' as const, text: englishText(bytes) } : denseText(random, bytes)
  const unknown = { hidden: random.between(1, 500), goesOn: random.chance(0.5) }
  const own = { density, text: someWords(random, 8), gate: { before, name: gate } }
  const last = plainScript(random, { ...own, ...(isExact ? { hidden: 0, cached: 0 } : unknown) })
  const scripts = withTools(world, { density, last })
  const half = Math.ceil(last.text!.length / 2)
  const seen = textOf(scripts.slice(0, -1)) + (before === 'rest' ? last.text!.slice(0, half).join('') : '')
  const expected = { outcomes: ['truncated', 'finished'] as ExpectedTurn['outcomes'], text: textOf(scripts) }
  const opened = await open(world, { session, scripts, text, expected })
  world.checks.same(opened.reader.status, 200, `the status of a chat with a model in ${session.id}`)
  await arrival(world, opened, { calls: scripts.length, text: seen })
  return { ...opened, gate }
}

async function arrival(world: SimWorld, { n, reader }: Opened, { calls, text }: { calls: number; text: string }) {
  const until = performance.now() + arrivalMsMax
  const said = () => reader.events.map(({ event }) => String(event.delta ?? '')).join('')
  while (world.provider.callsOf(n).length < calls || said().length < text.length) {
    if (performance.now() > until)
      throw new Violation(
        `${calls} calls of a model and the text "${text}" did not come; there is "${reader.text.slice(-300)}"`,
      )
    await delay(1)
  }
}
