import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundUsage, EventCharges } from '../../server/billing/event-charges.ts'

const metering = { prices: { page: 7, figure: 30 }, cap: 100 }

test('accepts claimed usage unchanged if it can be charged', () => {
  expect(boundUsage({ page: 10, figure: 1 }, metering)).toEqual({ usage: { page: 10, figure: 1 }, isAsClaimed: true })
  expect(boundUsage({}, metering)).toEqual({ usage: {}, isAsClaimed: true })
})

test.each([
  ['more than the cap', { page: 15 }, { page: 14 }],
  ['an unknown event', { page: 1, word: 9 }, { page: 1 }],
  ['inherited property names', { page: 1, constructor: 1, toString: 1 }, { page: 1 }],
  ['a negative count', { page: 1, figure: -3 }, { page: 1 }],
  ['a fractional count', { page: 1, figure: 0.5 }, { page: 1 }],
  ['a count that is not a number', { page: 1, figure: '2' }, { page: 1 }],
  ['a count beyond the safe integers', { page: 1e300 }, {}],
  ['no events', undefined, {}],
])('a claim of %s charges only its valid part', (_, claimed, usage) => {
  expect(boundUsage(claimed, metering)).toEqual({ usage, isAsClaimed: false })
})

test('never charges more than the cap, and reports exactly what was charged', () => {
  const charges = fc.array(fc.record({ event: fc.constantFrom('page', 'figure'), count: fc.maxSafeNat() }))
  fc.assert(
    fc.property(charges, fc.nat({ max: 1_000_000 }), (all, cap) => {
      const counted = new EventCharges({ ...metering, cap })
      const taken = { page: 0, figure: 0 } as Record<string, number>
      for (const { count, event } of all) {
        const fitting = counted.charge(event, count)
        expect(fitting).toBeLessThanOrEqual(count)
        taken[event]! += fitting
      }
      const { figure = 0, page = 0 } = counted.usage
      expect({ figure, page }).toEqual(taken)
      expect(page * 7 + figure * 30).toBeLessThanOrEqual(cap)
    }),
  )
})
