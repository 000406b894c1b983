import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type {
  CredentialLimits,
  LimitReset,
  SpendLimit,
  SpendState,
} from '../../server/store/limits/execution-limits.ts'
import type { Plans } from '../../server/store/limits/account-limits.ts'
import type { OpenTurn } from '../../server/store/sessions/session-types.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import { draftSession } from './session-contract.ts'
import type { StoreWorld } from './store-world.ts'

export const day = 86_400_000
const nothing = { executionsPerMinute: null, tasksAtWork: null, tasksWaiting: null, spendPerDay: null, agents: null }
/** A plan with a spend limit of 5 cents per day. */
export const aDay: Plans = {
  named: new Map([['paid', nothing]]),
  byDefault: { ...nothing, spendPerDay: 500 },
  defaultName: 'free',
}

/** Same as `aDay`, with at most three waiting tasks. */
export const threeWaiting: Plans = { ...aDay, byDefault: { ...aDay.byDefault, tasksWaiting: 3 } }

export function spending(ownerId: string, amount: Units, reset: LimitReset = 'never'): CredentialLimits {
  return { spend: { ownerId, amount, reset }, rate: null, onceTokenId: null }
}

async function stateOf(world: StoreWorld, limit: SpendLimit): Promise<SpendState> {
  return (await world.store.spendStates([limit]))[0]!
}

/** Returns the charged and held amounts of a window, whose period may have ended. */
export async function spentOf(world: StoreWorld, { spend }: CredentialLimits): Promise<[charged: Units, held: Units]> {
  const { charged, held } = await stateOf(world, spend!)
  return [charged, held]
}

/** Returns input for a turn in a new session. */
export async function draftTurn(world: StoreWorld, userId: string, changes: Partial<OpenTurn> = {}): Promise<OpenTurn> {
  const session = draftSession(world, userId)
  await world.store.createSession(session)
  const turnId = newId('turn', world.clock.now())
  const { sessionId } = session
  return { turnId, userId, sessionId, required: 10, hold: 50, idempotency: null, ...changes }
}

export async function begun(world: StoreWorld, userId: string, changes: Partial<OpenTurn> = {}): Promise<string> {
  const draft = await draftTurn(world, userId, changes)
  expect(await world.store.openTurn(draft)).toMatchObject({ outcome: 'opened' })
  return draft.turnId
}

export function settle(world: StoreWorld, turnId: string, cost: Units) {
  return world.store.settleTurn({ turnId, outcome: 'truncated', cost, breakdown: nothingUsed, exchange: null })
}
