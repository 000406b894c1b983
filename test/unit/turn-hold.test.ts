import { expect, test } from 'vitest'
import { chatUse } from '../../server/billing/chat-price.ts'
import { TurnHold } from '../../server/chat/turn-hold.ts'
import { ErrandError } from '../../server/kernel/errors.ts'
import { ratesAt } from '../support/rates.ts'

// A token costs 0.0001 USD, the unit of amounts.
const rates = ratesAt({ input: 100_000, output: 100_000 })
const output = (completionTokens: number) => chatUse({ completionTokens })

type Begin = { free: number; failures?: unknown[]; cap?: number }

/** Creates a turn that holds 100 of an account with `free` left, and may hold `cap` in total. */
function beginTurn({ cap = Infinity, failures = [], free }: Begin) {
  const faults: unknown[] = []
  let held = 100
  let left = free
  let growths = 0
  const store = {
    growHold: async ({ by, least }: { by: number; least: number }) => {
      growths++
      if (failures.length > 0) throw failures.shift()
      const room = Math.min(left, cap - held)
      if (room < least) return { outcome: 'refused', reason: room === cap - held ? 'budget' : 'balance' } as const
      const taken = Math.min(by, room)
      left -= taken
      return { outcome: 'held', held: (held += taken), free: room - taken } as const
    },
  }
  const hold = new TurnHold(held, {
    store,
    turnId: 'turn_1',
    rates: () => rates,
    step: 10,
    isOver: () => false,
    onFault: (error) => faults.push(error),
  })
  return { faults, hold, growths: () => growths }
}

test('holds part of the requested amount if the balance covers the minimum', async () => {
  const { faults, hold } = beginTurn({ free: 50 })
  expect(await hold.cover(output(500), { least: output(120) })).toBe(true)
  expect([hold.held, hold.limit, faults]).toEqual([150, 'balance', []])
  expect(await hold.cover(output(500), { least: output(151) })).toBe(false)
})

test('a hold limited by a cap names the cap, and grows up to it', async () => {
  const { growths, hold } = beginTurn({ free: 500, cap: 130 })
  expect(await hold.cover(output(120))).toBe(true)
  expect(hold.held).toBe(120)
  expect(await hold.cover(output(131))).toBe(false)
  expect([hold.limit, hold.held, growths()]).toEqual(['budget', 120, 2])
  expect(await hold.cover(output(500), { least: output(131) })).toBe(false)
  expect([hold.limit, hold.held]).toEqual(['budget', 120])
  expect(await hold.cover(output(500), { least: output(121) })).toBe(true)
  expect([hold.limit, hold.held]).toEqual(['budget', 130])
})

test('if cap and balance are both short, the tighter one limits the turn', async () => {
  const { hold } = beginTurn({ free: 20, cap: 150 })
  expect(await hold.cover(output(500), { least: output(101) })).toBe(true)
  expect([hold.limit, hold.held]).toEqual(['balance', 120])
})

test('waits until an unavailable database recovers, and reports other failures as faults', async () => {
  const unavailable = () => new ErrandError('SERVICE_UNAVAILABLE', 'The database cannot be reached.')
  const lost = new Error('a defect')
  const { faults, hold } = beginTurn({ free: 500, failures: [unavailable(), unavailable()] })
  expect(await hold.cover(output(300))).toBe(true)
  expect([hold.held, faults]).toEqual([300, []])
  const other = beginTurn({ free: 50, failures: [lost] })
  expect(await other.hold.cover(output(120), { least: output(110) })).toBe(false)
  expect(other.faults).toEqual([lost])
  expect(await other.hold.cover(output(140))).toBe(true)
})

test('a hold grows proportionally, by at most an eighth of the free balance', async () => {
  const rich = beginTurn({ free: 1_000_000 })
  for (let tokens = 100; tokens <= 20_000; tokens += 50) expect(await rich.hold.cover(output(tokens))).toBe(true)
  expect(rich.hold.held).toBeGreaterThanOrEqual(20_000)
  expect(rich.hold.held).toBeLessThanOrEqual(40_000)
  expect(rich.growths()).toBeLessThan(12)
  const poor = beginTurn({ free: 100 })
  expect(await poor.hold.cover(output(110))).toBe(true)
  expect(poor.hold.held).toBe(110)
  expect(await poor.hold.cover(output(111))).toBe(true)
  // An eighth of the free 90 is 11.
  expect(poor.hold.held).toBe(121)
})

test('the hold of a whole model call takes nothing in advance', async () => {
  const { hold } = beginTurn({ free: 1_000_000 })
  expect(await hold.cover(output(101), { least: output(101), isWhole: true })).toBe(true)
  expect(hold.held).toBe(101)
})
