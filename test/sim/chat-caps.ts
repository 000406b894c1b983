import { usdOfUnits } from './chat-cost.ts'
import { limitsOf, type Spender } from './limit-model.ts'
import type { ExpectedTurn, SimPerson, SimSession } from './sim-state.ts'
import type { HeldChat, SimWorld } from './sim-world.ts'

// What chats and sessions may cost, in units, as the simulation knows it from what was asked for and charged.

/** More than any reply of a script costs, but a flood. */
export const ampleUnits = 4000

/** The cap of a chat, of a few. */
export function drawCap({ random }: SimWorld): number | null {
  return random.chance(0.2) ? random.between(0, 1500) : null
}

/** What the caps leave for another chat; Infinity without any. */
export function leftWithin({ maxCost, spent }: SimSession, ofChat: number | null): number {
  return Math.min(ofChat ?? Infinity, maxCost === null ? Infinity : maxCost - spent)
}

export function capField(maxCost: number | null): { maxCostUsd?: string } {
  return maxCost === null ? {} : { maxCostUsd: usdOfUnits(maxCost) }
}

/** Another cap for a session, or none, in some of its updates; and whether what was spent or is held stands against it. */
export function drawNewCap(
  world: SimWorld,
  session: SimSession,
): { maxCost: number | null; isTooLow: boolean } | undefined {
  const { random } = world
  // What chats with models come to is compared with their provider's bill.
  if (session.agentId !== 'sim' || !random.chance(0.25)) return undefined
  const maxCost = random.chance(0.3) ? null : random.between(0, 3000)
  const held = [...world.audit.seen.openTurns]
    .map((id) => world.audit.seen.turns.get(id)!)
    .filter((turn) => turn.session_id === session.id)
    .reduce((sum, turn) => sum + turn.held, 0)
  return { maxCost, isTooLow: maxCost !== null && maxCost < session.spent + held }
}

/** How a reply ends that can pay for no more: it fails, and is free, if its first words were already too much. */
export const shortOutcomes: ExpectedTurn['outcomes'] = ['truncated', 'failed']

/** Why a reply ends that can pay for no more. */
export const shortCodes = ['INSUFFICIENT_BALANCE', 'BUDGET_REACHED', 'LIMIT_REACHED']

/** A reply that waits in the session may end when it goes on, at the balance or at a cap. */
export function mayEndEarly(world: SimWorld, { person, sessionId }: Pick<HeldChat, 'person' | 'sessionId'>): boolean {
  if (isPoor(world, person) || world.state.sessions.get(sessionId)!.maxCost !== null) return true
  const turn = [...world.audit.seen.turns.values()].find(
    (row) => row.session_id === sessionId && row.settled_at === null,
  )
  return turn === undefined || turn.counted_in !== null
}

/** Whether limits on what is spent may refuse an execution of somebody, or end it. */
export function isLimitedBy({ now }: SimWorld, spender: Spender): boolean {
  return limitsOf(spender, now).length > 0
}

/** What is free may not be enough for all that waits: replies that go on may end at the balance. */
export function isPoor(world: SimWorld, { balance, held, userId }: SimPerson): boolean {
  const waiting = [...world.chats.values()].filter(({ person }) => person.userId === userId)
  return balance - held < ampleUnits * Math.max(1, waiting.length)
}
