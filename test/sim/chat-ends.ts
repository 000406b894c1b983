import type { ChatReader } from '../support/chat-reader.ts'
import type { TurnRow } from './audit-rows.ts'
import { leftWithin, shortCodes } from './chat-caps.ts'
import { unitsOfUsd, type ChatReceipt } from './chat-cost.ts'
import type { SimSession } from './sim-state.ts'
import type { SimWorld } from './sim-world.ts'

// oxlint-disable-next-line typescript/no-explicit-any
type ChatEventLine = any

export async function readToEnd(world: SimWorld, reader: ChatReader): Promise<ChatEventLine> {
  const lines = await reader.all()
  world.checks.same(await reader.wasCutOff(), false, 'a reply that was cut off')
  const terminal = checkLines(world, lines)
  checkUnpaid(world, reader, terminal)
  return terminal
}

/**
 * Checks that the reader sees nothing of a reply that fails because balance or caps are too low, because it is free.
 */
function checkUnpaid(world: SimWorld, { events, headers }: ChatReader, terminal: ChatEventLine): void {
  if (!shortCodes.includes(terminal.error?.code)) return
  world.refresh()
  const turnId = String(headers['errand-turn-id'])
  if (world.audit.seen.turns.get(turnId)?.outcome !== 'failed') return
  const shown = events.slice(0, -1).map(({ event }) => event.type)
  world.checks.same(shown, [], `what was shown of ${turnId}, which is free`)
}

/** Checks that the last line is the only terminal one and that every tool result follows its call. */
export function checkLines(world: SimWorld, lines: readonly ChatEventLine[]): ChatEventLine {
  const { checks } = world
  const calls = new Set<string>()
  for (const line of lines) {
    checks.that(
      typeof line.type === 'string' && typeof line.timestamp === 'string',
      'a line has a type and a timestamp',
    )
    if (line.type === 'tool_call') calls.add(line.toolCall.id)
    if (line.type === 'tool_result') checks.that(calls.has(line.toolResult.id), 'a tool_result follows its tool_call')
  }
  const terminal = lines.filter(({ type }) => type === 'done' || type === 'error')
  checks.same([terminal.length, terminal[0] === lines.at(-1)], [1, true], 'a stream has one terminal line, the last')
  return terminal[0]
}

/** Checks that the last event of a turn matches the ledger. */
export function checkEnd({ audit, checks }: SimWorld, turn: TurnRow, terminal: ChatEventLine): void {
  const charge = audit.seen.turnMoney.get(turn.id)
  checks.same(unitsOfUsd(terminal.costUsd), -(charge?.amount ?? 0) || 0, `costUsd of the terminal line in ${turn.id}`)
  checks.same(
    terminal.type === 'done',
    turn.outcome === 'finished',
    `a ${terminal.type} line of a turn that ${turn.outcome}`,
  )
  const receipt = charge && (JSON.parse(charge.breakdown!) as ChatReceipt & Record<string, unknown>)
  if (terminal.type === 'done') {
    for (const name of ['promptTokens', 'completionTokens', 'reasoningTokens', 'toolCalls'] as const) {
      checks.same(terminal.usage[name], receipt![name], `usage.${name} of ${turn.id}`)
    }
  }
}

/** Checks that the terminal line reports a charge that has already been made. */
export function checkTerminal(world: SimWorld, session: SimSession, terminal: ChatEventLine): void {
  const { checks } = world
  world.refresh()
  const turn = [...world.audit.seen.turns.values()].findLast((row) => row.session_id === session.id)
  checks.that(typeof turn?.settled_at === 'number', `the turn of ${session.id} is settled before its terminal line`)
  if (!turn) return
  checkEnd(world, turn, terminal)
  const charge = world.audit.seen.turnMoney.get(turn.id)
  const receipt = charge && (JSON.parse(charge.breakdown!) as ChatReceipt & Record<string, unknown>)
  if (receipt?.writtenOffUsd !== undefined) {
    const person = world.model.person(session.userId)
    const left = Math.min((turn.max_cost ?? Infinity) - turn.cost!, leftWithin(session, null))
    const ofLimits = Math.max(0, world.model.leftInNamed(person, turn.counted_in))
    checks.same(
      Math.min(person.balance - person.held, left, ofLimits),
      0,
      `what balance, caps and limits leave when a part of the price of ${turn.id} is written off`,
    )
  }
  const { message, text } = world.model.expectedTurns.get(session.id)!
  const [said, replied] = world.audit.reader.messages(session.id).slice(-2)
  if (message !== undefined && turn.outcome !== 'failed')
    checks.same([said?.turn_id, said?.content], [turn.id, message], `what was said in ${session.id}`)
  if (text !== undefined && turn.outcome === 'finished')
    checks.same(replied?.content, text, `the reply in ${session.id}`)
}
