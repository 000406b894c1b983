import { assert } from '../../kernel/assert.ts'
import type { CompleteTask } from './task-types.ts'

/** Prices of a task at admission. `cost` is the amount charged. */
export type Priced = { cost: number; meters: string | null; rates: string | null }

/**
 * Returns the unused part of a task's charge. Asserts that the usage does not exceed the charge and contains only
 * known events.
 */
export function settled({ tokens, usage = {} }: CompleteTask, row: Priced | undefined) {
  if (row?.rates && tokens) {
    assert(tokens.cost >= 0 && tokens.cost <= row.cost, 'tokens do not cost more than the charge')
    return { givenBack: row.cost - tokens.cost, usage: tokens.used }
  }
  if (!row?.meters) return { givenBack: 0, usage: null }
  const meters = JSON.parse(row.meters) as Record<string, number>
  let left = row.cost
  for (const [event, count] of Object.entries(usage)) {
    const price = Object.hasOwn(meters, event) ? meters[event]! : 0
    assert(
      price > 0 && Number.isSafeInteger(count) && count >= 0,
      'usage counts only events that the task has a price for',
    )
    left -= count * price
  }
  assert(left >= 0, 'usage does not exceed the charge')
  return { givenBack: left, usage }
}
