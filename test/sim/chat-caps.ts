import { usdOfUnits } from './chat-cost.ts'
import { limitsOf, type Spender } from './limit-model.ts'
import type { ExpectedTurn, SimPerson, SimSession } from './sim-state.ts'
import type { HeldChat, SimWorld } from './sim-world.ts'

// Costs of chats and sessions in units, derived only from requests and charges.

/** Amount that exceeds the cost of every scripted reply, except a flood. */
export const ampleUnits = 4000

export function drawCap({ random }: SimWorld): number | null {
  return random.chance(0.2) ? random.between(0, 1500) : null
}

/** Returns the remaining budget for another chat; Infinity without a cap. */
export function leftWithin({ maxCost, spent }: SimSession, ofChat: number | null): number {
  return Math.min(ofChat ?? Infinity, maxCost === null ? Infinity : maxCost - spent)
}

export function capField(maxCost: number | null): { maxCostUsd?: string } {
  return maxCost === null ? {} : { maxCostUsd: usdOfUnits(maxCost) }
}

/**
 * Returns, for some session updates, a random new cap or none, and whether the amount spent and held already exceeds
 * it.
 */
export function drawNewCap(
  world: SimWorld,
  session: SimSession,
): { maxCost: number | null; isTooLow: boolean } | undefined {
  const { random } = world
  // Leave sessions with models uncapped: their charges are compared with the provider's bill.
  if (session.agentId !== 'sim' || !random.chance(0.25)) return undefined
  const maxCost = random.chance(0.3) ? null : random.between(0, 3000)
  const held = [...world.audit.seen.openTurns]
    .map((id) => world.audit.seen.turns.get(id)!)
    .filter((turn) => turn.session_id === session.id)
    .reduce((sum, turn) => sum + turn.held, 0)
  return { maxCost, isTooLow: maxCost !== null && maxCost < session.spent + held }
}

/** Outcomes of a reply that runs out of money. If its first words already cost too much, it fails and is free. */
export const shortOutcomes: ExpectedTurn['outcomes'] = ['truncated', 'failed']

/** Error codes of a reply that runs out of money. */
export const shortCodes = ['INSUFFICIENT_BALANCE', 'BUDGET_REACHED', 'LIMIT_REACHED']

/** Whether a waiting reply may run out of balance or reach a cap when it continues. */
export function mayEndEarly(world: SimWorld, { person, sessionId }: Pick<HeldChat, 'person' | 'sessionId'>): boolean {
  if (isPoor(world, person) || world.state.sessions.get(sessionId)!.maxCost !== null) return true
  const turn = [...world.audit.seen.turns.values()].find(
    (row) => row.session_id === sessionId && row.settled_at === null,
  )
  return turn === undefined || turn.counted_in !== null
}

/** Whether spend limits may reject or end one of this spender's executions. */
export function isLimitedBy({ now }: SimWorld, spender: Spender): boolean {
  return limitsOf(spender, now).length > 0
}

/** Whether the free balance may be too low for all waiting replies, so that they may end early. */
export function isPoor(world: SimWorld, { balance, held, userId }: SimPerson): boolean {
  const waiting = [...world.chats.values()].filter(({ person }) => person.userId === userId)
  return balance - held < ampleUnits * Math.max(1, waiting.length)
}
