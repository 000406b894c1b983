import { must } from '../../kernel/assert.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import type { Units } from '../../kernel/money.ts'
import type { CredentialLimits, SpendLimit } from './execution-limits.ts'
import { judgeLimits, type LimitFacts } from './judge-admission.ts'
import { limitsOf, noPlans } from './account-limits.ts'
import type { RateOf, RateState } from './limit-types.ts'
import type { StoreLimits } from '../store.ts'
import type { LimitRefusal } from '../tasks/task-types.ts'
import type { AccountRow } from '../tables/account-tables.ts'
import type { Op, Reads } from '../commands/command.ts'
import { askKeyRate } from './key-rates.ts'
import { fullOfPayloads } from './payload-bytes.ts'
import { readWindows } from './spend-windows.ts'

// The credential's limits are read in the same round trip as the account lock. Plan and user limits are read only if
// the user has any, so other users cost no additional reads.

type Asking = {
  userId: string
  limits?: CredentialLimits | null
  payloadBytes?: number
  waitingMax?: number | null
}

export type ReadLimits = LimitFacts & { rate: RateState }

function commonRate({ executionsPerMinute, plans = noPlans }: StoreLimits): number {
  return plans.byDefault.executionsPerMinute ?? executionsPerMinute
}

export function askLimits(
  on: Reads,
  { limits: credential, payloadBytes = 0, userId, waitingMax = null }: Asking,
  limits: StoreLimits,
) {
  const asked = {
    rate: on.rate(userId, commonRate(limits)),
    keyRate: credential?.rate ? askKeyRate(on, credential.rate) : undefined,
  }
  /** With `ofTask`, also reads the limits that apply only to tasks. */
  return function* read(
    account: Pick<AccountRow, 'plan' | 'limits' | 'payloadBytes' | 'payloadsSince'>,
    { now, ofTask }: { now: EpochMs; ofTask: boolean },
  ): Op<ReadLimits> {
    const own = limitsOf(account, limits.plans ?? noPlans)
    const perMinute = own.executionsPerMinute ?? limits.executionsPerMinute
    const limitsWaiting = ofTask && (own.tasksWaiting !== null || waitingMax !== null)
    const askedWaiting = limitsWaiting ? on.waiting(userId) : undefined
    let rate = yield* asked.rate
    if (rate.limitMax < perMinute) rate = yield* on.rate(userId, perMinute)
    const keyRate = asked.keyRate && (yield* asked.keyRate)(now)
    const windows = yield* readWindows(on, spendLimits(own.spendPerDay, { credential, userId }), now)
    const waiting = askedWaiting === undefined ? 0 : yield* askedWaiting
    // A task may also store its result, so require at least one byte of the payload limit.
    const bytes = ofTask ? Math.max(1, payloadBytes) : payloadBytes
    const payloads = fullOfPayloads(account, { bytes, limits, now })
    return { limits: own, rate: rate.at(perMinute, now), keyRate, payloads, waiting, windows }
  }
}

/**
 * Predicts whether limits would reject an execution. Rates and the balance are ignored, because they can change before
 * the admission.
 */
export function* foreseeLimits(
  on: Reads,
  of: Asking & { agentId: string; required: Units },
  limits: StoreLimits,
): Op<LimitRefusal | undefined> {
  const read = askLimits(on, of, limits)
  const account = must(yield* on.account(of.userId), 'an authenticated user has an account')
  return judgeLimits(of, yield* read(account, { now: yield* on.now(), ofTask: false }))
}

function spendLimits(
  perDay: number | null,
  { credential, userId }: { credential: CredentialLimits | null | undefined; userId: string },
): SpendLimit[] {
  const limits: SpendLimit[] = credential?.spend ? [credential.spend] : []
  if (credential?.makerSpend) limits.push(credential.makerSpend)
  if (perDay !== null) limits.push({ ownerId: userId, amount: perDay, reset: 'day' })
  return limits
}

export function* readRate(on: Reads, { account, userId }: RateOf, limits: StoreLimits): Op<RateState> {
  const own = limitsOf(account, limits.plans ?? noPlans)
  const perMinute = own.executionsPerMinute ?? limits.executionsPerMinute
  const rate = on.rate(userId, perMinute)
  const now = yield* on.now()
  return (yield* rate).at(perMinute, now)
}
