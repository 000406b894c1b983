import type { Key } from '../../../../client/client.ts'
import { parseUsd } from '../../../../server/kernel/money.ts'
import { usdUnits } from '../../../parts/text/usd-units.ts'

export type LimitReset = NonNullable<Key['limitReset']>

/** The user's input for the limits of a key. An empty string or list means no limit. */
export type LimitsDraft = { limitUsd: string; limitReset: LimitReset; executionsPerMinute: string; agents: string[] }

export const limitFields = ['limitUsd', 'limitReset', 'executionsPerMinute', 'agents'] as const

export const resets: { value: LimitReset; label: string; text: string }[] = [
  { value: 'never', label: 'Never resets', text: '' },
  { value: 'day', label: 'Day', text: ' per day' },
  { value: 'week', label: 'Week, from Monday', text: ' per week' },
  { value: 'month', label: 'Month', text: ' per month' },
]

export function draftOf(key?: Key): LimitsDraft {
  return {
    limitUsd: key?.limitUsd ?? '',
    limitReset: key?.limitReset ?? 'never',
    executionsPerMinute: String(key?.executionsPerMinute ?? ''),
    agents: key?.agents ?? [],
  }
}

export function limitErrors({
  executionsPerMinute,
  limitUsd,
}: LimitsDraft): Partial<Record<keyof LimitsDraft, string>> {
  const isAmount = limitUsd.trim() === '' || (parseUsd(limitUsd.trim()) ?? -1) >= 0
  const isCount = executionsPerMinute.trim() === '' || /^[1-9]\d{0,5}$/.test(executionsPerMinute.trim())
  return {
    ...(!isAmount && { limitUsd: 'Enter an amount in USD with at most four decimal places' }),
    ...(!isCount && { executionsPerMinute: 'Enter a whole number of at least 1' }),
  }
}

/** Converts the input to request fields. Null means no limit. */
export function limitsInput(draft: LimitsDraft) {
  const limitUsd = draft.limitUsd.trim()
  return {
    limitUsd: limitUsd === '' ? null : limitUsd,
    ...(limitUsd !== '' && { limitReset: draft.limitReset }),
    executionsPerMinute: draft.executionsPerMinute.trim() === '' ? null : Number(draft.executionsPerMinute),
    agents: draft.agents.length === 0 ? null : draft.agents,
  }
}

/** Returns the used share of the spending limit, from 0 to 1. A limit of zero counts as used up. */
export function spentShare({ limitUsd, usedUsd }: Pick<Key, 'limitUsd' | 'usedUsd'>): number {
  const limit = usdUnits(limitUsd ?? '0')
  return limit === 0 ? 1 : Math.min(1, usdUnits(usedUsd ?? '0') / limit)
}
