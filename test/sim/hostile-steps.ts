import { setTimeout as delay } from 'node:timers/promises'
import { ChatReader } from '../support/chat-reader.ts'
import { unitsOfUsd, usdOfUnits } from './chat-cost.ts'
import { checkTerminal, readToEnd } from './chat-ends.ts'
import { denseText, plainScript, someWords, type Density, type ModelScript } from './model-answers.ts'
import { newSession } from './session-steps.ts'
import { modelStepsMax } from './sim-agents.ts'
import { Violation } from './sim-checks.ts'
import { credentialHeaders, type SimCredential } from './sim-client.ts'
import type { ExpectedTurn, SimPerson, SimSession } from './sim-state.ts'
import { numberedMessage } from './sim-provider.ts'
import { ownTool, toolServerKinds, type ToolServerKind } from './sim-tool-server.ts'
import type { SimWorld } from './sim-world.ts'

// Chats with a model, whose provider counts for itself what it is owed. Nobody here means well.

const richUnits = 500_000
const arrivalMsMax = 10_000
/** A session's messages are the next prompts. */
const messagesMax = 8
/** So often a client that leaves lets the provider come to its end, which then tells what was used. */
const lateShare = 0.8
/** So often a provider says nothing of what a call came to, or zeros. */
const uncountedShare = 0.04
const chatKinds = [
  'plain',
  'plain',
  'plain',
  'plain',
  'short',
  'overruns',
  'again',
  'fails',
  'fails',
  'refused',
] as const

function peopleOf(world: SimWorld): { rich: SimPerson; poor: SimPerson } {
  const [rich, poor] = world.state.people.filter(({ isOfModels }) => isOfModels)
  return { rich: rich!, poor: poor! }
}

/** Nobody takes this key away. */
function credentialOf(person: SimPerson): SimCredential {
  return { kind: 'key', token: person.keys[0]!.token }
}

/** So much is free, and so many executions are left. */
async function prepare(world: SimWorld, person: SimPerson, { chats, free }: { chats: number; free: number }) {
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
  if (world.model.used(person, world.now) + chats > 10) await world.host.moveTime(60_000, 0)
}

async function prepareRich(world: SimWorld, chats: number): Promise<SimPerson> {
  const { rich } = peopleOf(world)
  const free = rich.balance - rich.held
  await prepare(world, rich, { chats, free: free < richUnits / 2 ? richUnits : free })
  return rich
}

/** So many sessions with the model, that nothing is under way in. */
async function sessionsOf(
  world: SimWorld,
  { count, kind, person }: { count: number; kind?: ToolServerKind; person: SimPerson },
): Promise<SimSession[]> {
  const connectorIds = kind && [await connectorOf(world, { kind, person })]
  const isUsable = (session: SimSession) =>
    session.agentId === 'model' &&
    session.userId === person.userId &&
    !session.isDeleted &&
    !world.chats.has(session.id) &&
    session.messageCount < messagesMax &&
    JSON.stringify(session.metadata['connectorIds']) === JSON.stringify(connectorIds) &&
    world.model.sessionStatus(session, false, world.now) === 'active'
  const usable = [...world.state.sessions.values()].filter(isUsable).slice(-count)
  while (usable.length < count) usable.push(await newModelSession(world, person, connectorIds))
  return usable
}

async function newModelSession(world: SimWorld, person: SimPerson, connectorIds?: string[]): Promise<SimSession> {
  const metadata = connectorIds ? { connectorIds } : {}
  const { body, status } = await world.send({
    kind: 'session',
    method: 'POST',
    path: '/api/sessions',
    credential: credentialOf(person),
    body: { agentId: 'model', metadata },
  })
  world.checks.same(status, 200, 'the status of a new session with a model')
  const session = newSession({
    id: String(body.sessionId),
    userId: person.userId,
    agentId: 'model',
    metadata,
    at: world.now,
  })
  world.state.sessions.set(session.id, session)
  return session
}

/** The person's own server of that conduct. */
async function connectorOf(
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
  node?: number
}

type Opened = { n: number; reader: ChatReader; turnId: string | null; node: number; message: string }

/** Sends it and learns which turn it is; null where it is refused. */
async function open(world: SimWorld, of: Message): Promise<Opened> {
  const { expected, mayFail = false, maxTokens, node = world.anyNode(), scripts, session, text } = of
  const n = world.nextNumber()
  const message = numberedMessage(n, text)
  const { client } = world.at(node)
  world.provider.expect(n, scripts)
  world.model.expectedTurns.set(session.id, { ...expected, message })
  const reader = await ChatReader.open({
    url: client.url,
    body: { sessionId: session.id, message, ...(maxTokens !== undefined && { params: { maxTokens } }) },
    headers: credentialHeaders(client.origin, credentialOf(world.model.person(session.userId))),
  })
  world.note(`model chat ${n} in ${session.id} ${JSON.stringify(scripts).slice(0, 200)} → ${reader.status}`)
  world.refresh()
  const turns = [...world.audit.seen.turns.values()]
  const turnId = reader.status === 200 ? turns.findLast((row) => row.session_id === session.id)!.id : null
  world.bills.sent(n, { turnId, mayFail })
  return { n, reader, turnId, node, message }
}

/** The text of all calls, as long as none is cut. */
function textOf(scripts: readonly ModelScript[]): string {
  return scripts.flatMap(({ text = [] }) => text).join('')
}

/** Calls of the agent's own tool before the last call of the model. */
function withTools(world: SimWorld, { density, last }: { density: Density; last: ModelScript }): ModelScript[] {
  const { random } = world
  const before = random.chance(0.5) ? 0 : random.between(1, modelStepsMax - 1)
  const calls = Array.from({ length: before }, () => plainScript(random, { density, calls: ['look'] }))
  return [...calls, last]
}

/** A chat that is read to its end: the model answers in whatever way, or its provider fails. */
export async function modelChatStep(world: SimWorld): Promise<number> {
  const { random } = world
  const person = await prepareRich(world, 1)
  const [session] = await sessionsOf(world, { count: 1, person })
  const { density, text } = denseText(random, random.pick([20, 200, 4000]))
  const kind = random.chance(uncountedShare) ? 'untold' : random.pick(chatKinds)
  const own: Partial<ModelScript> = {
    plain: {},
    untold: { usage: random.pick(['never', 'zero', 'zero'] as const), hidden: 0 },
    short: { hidden: 10, shown: '' },
    overruns: { hidden: random.between(1000, 3000), overruns: true },
    again: { refused: { status: random.pick([429, 500, 503]), times: random.between(1, 2) } },
    fails: random.chance(0.3)
      ? { refused: { status: 500, times: 9 } }
      : { breaks: random.pick(['cut', 'error', 'told'] as const), text: someWords(random, 8) },
    refused: { refused: { status: random.pick([400, 413, 422]), times: 1 } },
  }[kind]
  const last = plainScript(random, { density, ...own })
  const scripts = kind === 'short' ? [last] : withTools(world, { density, last })
  const outcomes: ExpectedTurn['outcomes'] = kind === 'fails' || kind === 'refused' ? ['failed'] : ['finished']
  const mayFail = kind === 'fails'
  const expected = { outcomes, ...(kind !== 'short' && outcomes[0] === 'finished' && { text: textOf(scripts) }) }
  const isShort = kind === 'short' && { maxTokens: random.between(12, 20) }
  const { reader } = await open(world, { session: session!, scripts, text, expected, mayFail, ...isShort })
  world.checks.same(reader.status, 200, `the status of a chat with a model in ${session!.id}`)
  const terminal = await readToEnd(world, reader)
  checkTerminal(world, session!, terminal)
  const code = terminal.error?.code
  world.checks.same(code, outcomes[0] === 'failed' ? 'AGENT_ERROR' : undefined, `how a model that is ${kind} ends`)
  world.checkSessionRow(session!.id)
  return 1
}

/** Clients that leave before the provider answers, while it thinks or in the middle of its text. */
export async function modelLeaveStep(world: SimWorld): Promise<number> {
  const { random } = world
  const count = random.between(1, 3)
  const person = await prepareRich(world, count)
  const sessions = await sessionsOf(world, { count, person })
  const chats = await Promise.all(sessions.map((session) => openGated(world, session)))
  for (const { gate, reader } of chats) {
    reader.leave()
    if (random.chance(lateShare)) await world.openGate(gate, 'ok')
  }
  await world.quiesce()
  for (const { id } of sessions) world.checkSessionRow(id)
  return count
}

type Gated = Opened & { gate: string }

/** A chat that waits at a gate of the provider, somewhere in its calls. */
async function openGated(world: SimWorld, session: SimSession): Promise<Gated> {
  const { random } = world
  const gate = `${world.seed}-model-${world.nextNumber()}`
  const before = random.pick(['head', 'thought', 'text', 'rest'] as const)
  const { density, text } = denseText(random, random.pick([20, 200, 4000, 20_000]))
  const last = plainScript(random, {
    density,
    hidden: random.between(1, 500),
    text: someWords(random, 8),
    gate: { before, name: gate },
    goesOn: random.chance(0.5),
  })
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

/** A chat that stays open, until it goes on, its client leaves, its session is deleted or the service ends. */
export async function holdModelStep(world: SimWorld): Promise<number> {
  const person = await prepareRich(world, 1)
  const [session] = await sessionsOf(world, { count: 1, person })
  const { gate, node, reader } = await openGated(world, session!)
  const expected = world.model.expectedTurns.get(session!.id)!
  world.model.expectedTurns.set(session!.id, { ...expected, outcomes: ['finished'] })
  const readLines = reader.events.length
  world.chats.set(session!.id, { reader, gate, person, sessionId: session!.id, readLines, node })
  return 1
}

/** Chats of somebody who can pay for some of them, at once, with prompts of which each byte may be a token. */
export async function modelBurst(world: SimWorld): Promise<number> {
  const { checks, random } = world
  const { poor } = peopleOf(world)
  const count = random.between(2, 8)
  await prepare(world, poor, { chats: count, free: random.between(300, 4000) })
  const sessions = await sessionsOf(world, { count, person: poor })
  // Those of other nodes would be waited for blindly.
  const node = world.anyNode()
  world.note(`${count} chats of the poor ${poor.userId} with models at once`)
  await Promise.all(
    sessions.map(async (session) => {
      const { density, text } = denseText(random, random.pick([20, 400, 3000]))
      const overruns = random.chance(0.3)
      const hidden = overruns ? random.between(2000, 8000) : random.between(0, 1500)
      const last = plainScript(random, { density, overruns, hidden })
      const scripts = withTools(world, { density, last })
      const expected: ExpectedTurn = { outcomes: ['finished', 'truncated', 'failed'] }
      const leaves = random.chance(0.25)
      const { reader } = await open(world, { session, scripts, text, expected, node })
      checks.that([200, 403].includes(reader.status), `a chat of ${count} with models at once got ${reader.status}`)
      if (leaves) reader.leave()
      else await reader.all()
    }),
  )
  await world.quiesce()
  for (const { id } of sessions) world.checkSessionRow(id)
  return count
}

/** The model calls a tool of the person's own server, which does what it likes. */
export async function ownToolStep(world: SimWorld): Promise<number> {
  const { checks, random } = world
  const kind = random.pick(toolServerKinds)
  const person = await prepareRich(world, 1)
  const [session] = await sessionsOf(world, { count: 1, kind, person })
  // What servers describe and answer here has a token a byte, but where it is much.
  const density = kind === 'wordy' ? 4 : random.pick([1, 1.5, 4] as const)
  const scripts = [plainScript(random, { density, calls: [ownTool] }), plainScript(random, { density })]
  const isBad = kind === 'drops' || kind === 'garbage' || kind === 'hangs'
  const expected: ExpectedTurn = isBad ? { outcomes: ['truncated'] } : { outcomes: ['finished'], text: textOf(scripts) }
  const { reader } = await open(world, { session: session!, scripts, text: 'Use it.', expected })
  checks.same(reader.status, 200, `the status of a chat with a server that ${kind}`)
  if (kind === 'hangs') {
    await reader.until('tool_call')
    reader.leave()
    await world.quiesce()
  } else {
    const terminal = await readToEnd(world, reader)
    checkTerminal(world, session!, terminal)
    checks.same(terminal.type, isBad ? 'error' : 'done', `the end of a chat with a server that ${kind}`)
  }
  world.checkSessionRow(session!.id)
  return 1
}

const metricName = 'errand_chat_written_off_usd_total'

async function writtenOffByMetrics(world: SimWorld): Promise<number> {
  let sum = 0
  for (const node of world.allNodes()) {
    const { text } = await world.at(node).client.send({ path: '/metrics' })
    for (const line of text.split('\n')) {
      if (line.startsWith(metricName)) sum += unitsOfUsd(line.slice(line.lastIndexOf(' ')))
    }
  }
  return sum
}

/** After a start metrics count from zero again. */
export async function metricsBegin(world: SimWorld): Promise<void> {
  world.writtenOffBefore = world.audit.writtenOff() - (await writtenOffByMetrics(world))
}

/** Bills, and what the service says to its operator of what was written off. */
export async function checkModelMoney(world: SimWorld): Promise<void> {
  const { audit, bills, checks } = world
  bills.check(audit.seen)
  const until = performance.now() + 2000
  const expected = () => audit.writtenOff() - world.writtenOffBefore
  while ((await writtenOffByMetrics(world)) !== expected() && performance.now() < until) {
    await delay(5)
    world.refresh()
  }
  checks.same(await writtenOffByMetrics(world), expected(), metricName)
  const credential = await world.adminCredential()
  for (const { userId } of Object.values(peopleOf(world))) {
    const { body } = await world.send({ kind: 'user', path: `/api/users/${userId}`, credential })
    checks.same(unitsOfUsd(body.writtenOffUsd), audit.writtenOff(userId), `what is written off of ${userId}`)
  }
}
