import { expect, test } from 'vitest'
import { chatUse } from '../../server/billing/chat-price.ts'
import { TurnHold } from '../../server/chat/turn-hold.ts'
import { ErrandError } from '../../server/kernel/errors.ts'
import { UserTurns } from '../../server/chat/user-turns.ts'

// A token costs 0.0001 USD, the unit of amounts.
const rates = { input: 100_000, cachedInput: 100_000, output: 100_000, reasoning: 100_000, toolCall: 0 }

type Begin = { free: number; heldOf?: () => Promise<number>; away?: unknown[]; cap?: number }

/** A turn that holds 100 of an account with `free` left, and may hold `cap` in total. */
function beginTurn({ away = [], cap = Infinity, free, heldOf }: Begin) {
  const users = new UserTurns(heldOf)
  const faults: unknown[] = []
  let held = 100
  let left = free
  let asked = 0
  const store = {
    growHold: async ({ by, least }: { by: number; least: number }) => {
      asked++
      if (away.length > 0) throw away.shift()
      if (cap - held < least) return { outcome: 'refused', reason: 'budget', left: cap - held } as const
      const taken = Math.min(by, left, cap - held)
      if (taken < least) return { outcome: 'refused', reason: 'balance' } as const
      left -= taken
      return { outcome: 'held', held: (held += taken), free: Math.min(left, cap - held) } as const
    },
  }
  const hold = new TurnHold(held, {
    store,
    turnId: 'turn_1',
    rates,
    membership: users.join('user_1', { held, most: 1000 }),
    step: 10,
    isOver: () => false,
    onFault: (error) => faults.push(error),
  })
  const othersNeed = () => users.attempt('user_1', { mayNeed: 1, begin: async (others) => others })
  const topUp = (by: number) => void (left += by)
  return { faults, hold, othersNeed, topUp, users, growths: () => asked }
}

test('a turn that reserved part of the requested amount stops waiting', async () => {
  const { faults, hold, othersNeed } = beginTurn({ free: 50 })
  expect(await hold.coverSome(chatUse({ completionTokens: 500 }), chatUse({ completionTokens: 120 }))).toBe(true)
  expect(hold.held).toBe(150)
  expect(await othersNeed()).toBe(850)
  expect(faults).toEqual([])
})

test('a hold limited by a cap reports it and does not wait for other turns', async () => {
  const { growths, hold, users } = beginTurn({ free: 500, cap: 130 })
  // Another turn is running. If the balance were short, this turn would wait for it to end.
  users.join('user_1', { held: 10, most: 1000 })
  expect(await hold.cover(chatUse({ completionTokens: 120 }))).toBe(true)
  expect(hold.held).toBe(120)
  expect(await hold.cover(chatUse({ completionTokens: 131 }))).toBe(false)
  expect([hold.limit, hold.held, growths()]).toEqual(['budget', 120, 2])
  expect(await hold.coverSome(chatUse({ completionTokens: 500 }), chatUse({ completionTokens: 131 }))).toBe(false)
  expect([hold.limit, hold.held]).toEqual(['budget', 120])
  expect(await hold.coverSome(chatUse({ completionTokens: 500 }), chatUse({ completionTokens: 121 }))).toBe(true)
  expect([hold.limit, hold.held]).toEqual(['budget', 130])
})

test('if cap and balance are both short, a turn waits only for the amount its cap allows', async () => {
  const { hold, topUp, users } = beginTurn({ free: 10, cap: 150 })
  const other = users.join('user_1', { held: 10, most: 1000 })
  const some = hold.coverSome(chatUse({ completionTokens: 500 }), chatUse({ completionTokens: 101 }))
  await new Promise(setImmediate)
  topUp(90)
  other.leave()
  expect(await some).toBe(true)
  expect([hold.limit, hold.held]).toEqual(['balance', 150])
})

test('if cap and balance are both short, the tighter one limits the turn', async () => {
  const { hold } = beginTurn({ free: 20, cap: 150 })
  expect(await hold.coverSome(chatUse({ completionTokens: 500 }), chatUse({ completionTokens: 101 }))).toBe(true)
  expect([hold.limit, hold.held]).toEqual(['balance', 120])
})

test('reports a failed wait as a fault, after which the hold can still grow', async () => {
  const lost = new Error('the connection was lost')
  const { faults, hold, othersNeed } = beginTurn({ free: 50, heldOf: () => Promise.reject(lost) })
  expect(await hold.cover(chatUse({ completionTokens: 500 }))).toBe(false)
  expect(faults).toEqual([lost])
  expect(await othersNeed()).toBe(900)
  expect(await hold.cover(chatUse({ completionTokens: 140 }))).toBe(true)
})

test('a hold waits until an unavailable database recovers, and reports other failures as faults', async () => {
  const unavailable = () => new ErrandError('SERVICE_UNAVAILABLE', 'The database cannot be reached.')
  const lost = new Error('a defect')
  const { faults, hold } = beginTurn({ free: 500, away: [unavailable(), unavailable()] })
  expect(await hold.cover(chatUse({ completionTokens: 300 }))).toBe(true)
  expect([hold.held, faults]).toEqual([300, []])
  const other = beginTurn({ free: 50, heldOf: () => Promise.resolve(0), away: [lost] })
  expect(await other.hold.coverSome(chatUse({ completionTokens: 120 }), chatUse({ completionTokens: 110 }))).toBe(true)
  expect(other.faults).toEqual([lost])
})

test('if all turns wait for each other, the last turn to arrive gives up', async () => {
  const users = new UserTurns()
  // Checks take time and run one after another.
  let line: Promise<unknown> = Promise.resolve()
  let asked = 0
  const ask = () => {
    asked++
    return (line = line.then(() => new Promise(setImmediate)))
  }
  const gaveUp: string[] = []
  const run = async (name: string) => {
    const membership = users.join('user_1', { held: 10, most: 100 })
    for (;;) {
      await ask()
      if (gaveUp.length > 0 || asked > 1000) return membership.leave()
      if (await membership.wait()) continue
      gaveUp.push(name)
      return membership.leave()
    }
  }
  await Promise.all(['first', 'second', 'third', 'last'].map(run))
  expect(gaveUp).toEqual(['last'])
  expect(asked).toBeLessThan(20)
})

test('a hold grows proportionally, by at most an eighth of the free balance', async () => {
  const rich = beginTurn({ free: 1_000_000 })
  for (let tokens = 100; tokens <= 20_000; tokens += 50)
    expect(await rich.hold.cover(chatUse({ completionTokens: tokens }))).toBe(true)
  expect(rich.hold.held).toBeGreaterThanOrEqual(20_000)
  expect(rich.hold.held).toBeLessThanOrEqual(40_000)
  expect(rich.growths()).toBeLessThan(12)
  const poor = beginTurn({ free: 100 })
  expect(await poor.hold.cover(chatUse({ completionTokens: 110 }))).toBe(true)
  expect(poor.hold.held).toBe(110)
  expect(await poor.hold.cover(chatUse({ completionTokens: 111 }))).toBe(true)
  // An eighth of the free 90 is 11.
  expect(poor.hold.held).toBe(121)
})
