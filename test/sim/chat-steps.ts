import { ChatReader } from '../support/chat-reader.ts'
import { simPricing, type ChatStep } from './sim-agents.ts'
import { deltas, finishingScript, none } from './chat-scripts.ts'
import { checkLines, checkTerminal, readToEnd } from './chat-ends.ts'
import {
  ampleUnits,
  capField,
  drawCap,
  isLimitedBy,
  isPoor,
  leftWithin,
  mayEndEarly,
  shortCodes,
  shortOutcomes,
} from './chat-caps.ts'
import { receiptCost, usdOfUnits } from './chat-cost.ts'
import { Violation } from './sim-checks.ts'
import { credentialHeaders } from './sim-client.ts'
import type { SimPerson, SimSession } from './sim-state.ts'
import type { HeldChat, SimWorld } from './sim-world.ts'

const dayMs = 86_400_000

type SimCredentialOf = ReturnType<SimWorld['credentialOf']>
/**
 * Returns the free balance that a chat needs: it is always rejected below `least`, and always accepted from `most` up.
 */
function needs(world: SimWorld, { message, session }: { message: string; session: SimSession }) {
  const tokens = Math.ceil(Buffer.byteLength(message) / 4)
  let stored = 0
  for (const row of world.audit.reader.messages(session.id)) stored += row.tokens
  const of = (promptTokens: number, completionTokens: number) => {
    const used = { ...none, promptTokens, completionTokens }
    const isLong = promptTokens > simPricing.longContext.aboveTokens
    return receiptCost({ ...used, ...(isLong && { longContext: used }), rates: simPricing })
  }
  return { least: of(tokens, 1) - 1, most: of(tokens + stored, 500) + 3 }
}

/** Returns the expected status of a chat, or `unsure` if it depends on the service's own token count. */
export function foreseeChat(
  world: SimWorld,
  session: SimSession,
  of: { message: string; key: string | null; maxCost?: number | null; by: SimCredentialOf },
): number | 'unsure' {
  const person = world.model.person(session.userId)
  const { now } = world
  const keyAt = of.key === null ? undefined : person.chatKeys.get(of.key)
  if (keyAt !== undefined && now - keyAt < dayMs) return 409
  if (session.isDeleted) return 404
  const status = world.model.sessionStatus(session, world.chats.has(session.id), now)
  if (status === 'expired') return 410
  if (status === 'completed' || world.chats.has(session.id)) return 409
  if (world.model.used(person, now) >= 10) return 429
  if (person.owed > 0) return 403
  const free = person.balance - person.held
  const left = Math.min(leftWithin(session, of.maxCost ?? null), world.model.leftOf({ person, key: of.by.key }, now))
  const { least, most } = needs(world, { message: of.message, session })
  if (Math.min(free, left) < least) return 403
  // While another chat is in progress, the free balance must cover the whole hold.
  if (person.held > 0 && free < ampleUnits) return 'unsure'
  return Math.min(free, left) >= most ? 200 : 'unsure'
}

type OpenChat = {
  onDisconnect?: 'stop' | 'continue'
  steps: readonly ChatStep[]
  key?: string | null
  maxCost?: number | null
  by?: SimCredentialOf
}

export async function openChat(
  world: SimWorld,
  session: SimSession,
  { by, steps, key = null, maxCost = null, onDisconnect }: OpenChat,
) {
  const person = world.model.person(session.userId)
  const { credential, key: apiKey } = by ?? world.credentialOf(person)
  world.model.chatSent(session.id, { person, key: apiKey }, world.now)
  const node = world.anyNode()
  const { client } = world.at(node)
  const opened = await ChatReader.open({
    url: client.url,
    body: {
      sessionId: session.id,
      message: JSON.stringify(steps),
      ...capField(maxCost),
      ...(onDisconnect && { onDisconnect }),
    },
    headers: { ...credentialHeaders(client.origin, credential), ...(key !== null && { 'Idempotency-Key': key }) },
  }).catch((error: unknown) => {
    if (client.isDown) return undefined
    throw error
  })
  const isUnheard = opened !== undefined && client.isKilled
  if (isUnheard) opened.leave()
  const reader = isUnheard ? undefined : opened
  const status = reader?.status ?? 0
  world.note(`chat ${session.id} ${JSON.stringify(steps).slice(0, 160)} → ${status}`)
  if (reader && status >= 400) {
    await reader.all()
    world.refused('chat', {
      status,
      body: { error: reader.events[0]?.event.error?.code ?? JSON.parse(reader.text).error },
    })
  }
  return { reader, status, node, client, refused: world.model.refusedCredential(person, apiKey, world.now) }
}

export function anySession(world: SimWorld): SimSession | undefined {
  const sessions = [...world.state.sessions.values()].filter(({ agentId }) => agentId === 'sim').slice(-60)
  const usable = sessions.filter(
    (session) =>
      !session.isDeleted && world.model.sessionStatus(session, world.chats.has(session.id), world.now) === 'active',
  )
  if (sessions.length === 0) return undefined
  return usable.length > 0 && world.random.chance(0.93) ? world.random.pick(usable) : world.random.pick(sessions)
}

export function hasHeldChat(world: SimWorld, person: SimPerson): boolean {
  return [...world.chats.values()].some((chat) => chat.person === person)
}

export async function chatStep(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  const session = anySession(world)
  if (!session) return 0
  const person = model.person(session.userId)
  const script = finishingScript(world)
  if (random.chance(0.15)) {
    script.steps.push({ do: 'throw' })
    script.expected = { outcomes: ['failed'] }
  }
  const usedKeys = [...person.chatKeys.keys()]
  const key = random.chance(0.1)
    ? `chat-${world.nextNumber()}`
    : random.chance(0.05) && usedKeys.length > 0
      ? random.pick(usedKeys)
      : null
  const message = JSON.stringify(script.steps)
  const maxCost = drawCap(world)
  const by = world.credentialOf(person)
  const foreseen = foreseeChat(world, session, { message, key, maxCost, by })
  // With a nearly empty balance any reply may end early.
  const isCapped = leftWithin(session, maxCost) < Infinity
  const isLimited = isLimitedBy(world, { person, key: by.key })
  if (isPoor(world, person) || isCapped || isLimited) script.expected.outcomes.push(...shortOutcomes)
  if (!world.chats.has(session.id)) model.expectedTurns.set(session.id, { ...script.expected, message, maxCost })
  const { reader, refused, status } = await openChat(world, session, { by, steps: script.steps, key, maxCost })
  if (refused !== 0) {
    checks.same(status, refused, 'the status of a chat with a bad credential')
    return 1
  }
  if (foreseen === 'unsure') checks.that(status === 200 || status === 403, `a chat got ${status}`)
  else checks.same(status, foreseen, `the status of a chat in ${session.id}`)
  if (status !== 200) {
    checkRefusedChat(world, { person, reader: reader!, isCapped, isLimited })
    return 1
  }
  if (key !== null) person.chatKeys.set(key, world.now)
  const terminal = await readToEnd(world, reader!)
  checkTerminal(world, session, terminal)
  const codes = [
    'INSUFFICIENT_BALANCE',
    ...(isCapped ? ['BUDGET_REACHED'] : []),
    ...(isLimited ? ['LIMIT_REACHED'] : []),
  ]
  if (script.steps.at(-1)!.do === 'throw') codes.push('AGENT_ERROR')
  if (terminal.type === 'error')
    checks.that(codes.includes(terminal.error.code), `a reply ends by ${terminal.error.code}`)
  world.checkSessionRow(session.id)
  return 1
}

type Refused = { person: SimPerson; reader: ChatReader; isCapped: boolean; isLimited: boolean }

function checkRefusedChat(world: SimWorld, { isCapped, isLimited, person, reader }: Refused): void {
  const { checks } = world
  if (!reader.text.startsWith('{"type"')) return
  const line = checkLines(
    world,
    reader.events.map(({ event }) => event),
  )
  checks.same([line.type, line.statusCode], ['error', reader.status], 'the line of a refusal')
  if (line.error.code === 'INSUFFICIENT_BALANCE') {
    const stated = usdOfUnits(person.owed > 0 ? person.owed : person.balance)
    checks.that(String(line.message).includes(stated), `"${line.message}" states the balance, or what is owed`)
    const isHeld = person.owed === 0 && String(line.message).includes('Turns in progress hold')
    checks.same(reader.headers['retry-after'], isHeld ? '5' : undefined, 'the Retry-After of a refusal for balance')
    checks.that(!isHeld || person.held > 0, 'a chat is not refused for holds that do not exist')
  }
  checks.that(isLimited || line.error.code !== 'LIMIT_REACHED', 'a chat without a limit is not refused for one')
  checks.that(isCapped || line.error.code !== 'BUDGET_REACHED', 'a chat without a cap is not refused for one')
}

/** Sends a reply longer than balance or caps allow and expects it to be cut off. */
export async function floodStep(world: SimWorld): Promise<number> {
  const { checks, model } = world
  const session = anySession(world)
  if (!session) return 0
  const person = model.person(session.userId)
  const free = person.balance - person.held
  const by = world.credentialOf(person)
  const ofLimits = model.leftOf({ person, key: by.key }, world.now)
  const isLimited = ofLimits < Infinity
  // With enough money, a flood would run until its script ends.
  const isRich = Math.min(free, ofLimits) > 6000
  const mayFlood = !isRich || world.random.chance(0.5)
  if (!mayFlood) return await chatStep(world)
  const isCapped = isRich || world.random.chance(0.2)
  const maxCost = isCapped ? world.random.between(10, 3000) : null
  const steps: ChatStep[] = [{ do: 'text', delta: 'many words of it ', times: 12_000 }]
  const foreseen = foreseeChat(world, session, { message: JSON.stringify(steps), key: null, maxCost, by })
  if (!world.chats.has(session.id)) model.expectedTurns.set(session.id, { outcomes: shortOutcomes, maxCost })
  const left = leftWithin(session, maxCost)
  const { reader, refused, status } = await openChat(world, session, { by, steps, maxCost })
  if (refused !== 0) {
    checks.same(status, refused, 'the status of a chat with a bad credential')
    return 1
  }
  if (foreseen !== 'unsure') checks.same(status, foreseen, `the status of a chat in ${session.id}`)
  if (status !== 200) return 1
  const terminal = await readToEnd(world, reader!)
  // If both balance and cap are exceeded, the cap is reported.
  const ofBalance = left <= free ? ['BUDGET_REACHED'] : left < Infinity ? shortCodes : ['INSUFFICIENT_BALANCE']
  const ofLimit = ofLimits <= free && left === Infinity ? ['LIMIT_REACHED'] : shortCodes
  const codes = isLimited ? ofLimit : ofBalance
  checks.that(
    codes.includes(terminal.error?.code),
    `a reply past ${codes.join(' or ')} ends by ${terminal.error?.code}`,
  )
  checkTerminal(world, session, terminal)
  world.checkSessionRow(session.id)
  return 1
}

/** Opens a chat with an agent that waits at a gate after some lines. */
export async function holdChatStep(world: SimWorld): Promise<number> {
  const { checks, model, random } = world
  const session = anySession(world)
  if (!session) return 0
  const person = model.person(session.userId)
  const gate = `${world.seed}-chat-${world.nextNumber()}`
  const lines = random.between(0, 5)
  const before = Array.from({ length: lines }, (): ChatStep => ({ do: 'text', delta: random.pick(deltas) }))
  const after = finishingScript(world)
  const steps: ChatStep[] = [...before, { do: 'gate', name: gate }, ...after.steps]
  const message = JSON.stringify(steps)
  const by = world.credentialOf(person)
  const ofLimits = model.leftOf({ person, key: by.key }, world.now)
  const free = Math.min(person.balance - person.held, leftWithin(session, null), ofLimits)
  if (foreseeChat(world, session, { message, key: null, by }) !== 200 || free < ampleUnits) return 0
  if (hasHeldChat(world, person) && random.chance(0.6)) return 0
  const said = before.map((step) => ('delta' in step ? step.delta : '')).join('')
  model.expectedTurns.set(session.id, { ...after.expected, message, text: said + (after.expected.text ?? '') })
  const { node, reader, refused, status } = await openChat(world, session, { by, steps })
  if (refused !== 0) {
    checks.same(status, refused, 'the status of a chat with a bad credential')
    return 1
  }
  checks.same(status, 200, `the status of a chat in ${session.id}`)
  const chat: HeldChat = { reader: reader!, gate, person, sessionId: session.id, readLines: lines, node }
  world.chats.set(session.id, chat)
  await untilLines(reader!, lines)
  world.refresh()
  const turn = [...world.audit.seen.turns.values()].findLast((row) => row.session_id === session.id)
  checks.that(
    (turn?.held ?? 0) > needs(world, { message, session }).least,
    `the open turn of ${session.id} holds ${turn?.held}, less than it costs`,
  )
  return 1
}

export async function untilLines(reader: ChatReader, lines: number): Promise<void> {
  const until = performance.now() + 10_000
  while (reader.events.length < lines) {
    if (performance.now() > until) throw new Violation(`${reader.events.length} of ${lines} lines of a reply came`)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

/** Ends a waiting chat: it finishes, or its client leaves before or during the rest. */
export async function endChatStep(world: SimWorld): Promise<number> {
  const { random } = world
  const held = [...world.chats.values()]
  if (held.length === 0) return await holdChatStep(world)
  await endChat(world, random.pick(held), random.pick(['finish', 'leave', 'leave', 'race'] as const))
  return 1
}

export async function endChat(world: SimWorld, chat: HeldChat, how: 'finish' | 'leave' | 'race'): Promise<void> {
  const { checks, model } = world
  const { gate, readLines, reader, sessionId } = chat
  const session = world.state.sessions.get(sessionId)!
  const expected = model.expectedTurns.get(sessionId)!
  world.note(`${how} the chat in ${sessionId} after ${readLines} lines`)
  const mayStop = mayEndEarly(world, chat)
  world.chats.delete(sessionId)
  if (how === 'finish') {
    if (mayStop) model.expectedTurns.set(sessionId, { ...expected, outcomes: ['finished', ...shortOutcomes] })
    await world.openGate(gate, 'ok')
    const terminal = await readToEnd(world, reader)
    checkTerminal(world, session, terminal)
    if (terminal.type === 'error')
      checks.that(shortCodes.includes(terminal.error.code), `a reply ends by ${terminal.error.code}`)
  } else {
    model.expectedTurns.set(sessionId, { outcomes: how === 'leave' ? ['truncated'] : ['truncated', 'finished'] })
    if (how === 'race') void world.openGate(gate, 'ok')
    reader.leave()
    await world.quiesce(5000)
    const turn = [...world.audit.seen.turns.values()].findLast((row) => row.session_id === sessionId)!
    const stored = world.audit.reader.messages(sessionId)
    checks.same(
      [stored.at(-1)?.turn_id, stored.at(-2)?.content],
      [turn.id, expected.message],
      `the exchange of the turn that was left in ${sessionId}`,
    )
    const said = stored.at(-1)!.content
    checks.that(
      (expected.text ?? '').startsWith(said),
      `the reply that was left in ${sessionId} is a beginning of the whole`,
    )
    const read = reader.events
      .map(({ event }) => event.delta ?? '')
      .slice(0, readLines)
      .join('')
    checks.that(said.startsWith(read), `what was read of ${sessionId} is stored`)
    checks.that(turn.cost! > 0, `what was used in ${sessionId} is charged`)
  }
  world.checkSessionRow(sessionId)
}
