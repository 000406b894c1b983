import { expect, test } from 'vitest'
import { chatUse } from '../../server/billing/chat-price.ts'
import { TurnHold } from '../../server/chat/turn-hold.ts'
import { ErrandError } from '../../server/kernel/errors.ts'
import { UserTurns } from '../../server/chat/user-turns.ts'

// A token costs 0.0001 USD, the unit of amounts.
const rates = { input: 100_000, cachedInput: 100_000, output: 100_000, reasoning: 100_000, toolCall: 0 }

/** A turn that holds 100 of an account that has `free` besides. */
function beginTurn({ free, heldOf, away = [] }: { free: number; heldOf?: () => Promise<number>; away?: unknown[] }) {
  const users = new UserTurns(heldOf)
  const faults: unknown[] = []
  let held = 100
  let left = free
  const store = {
    growHold: async ({ by, least }: { by: number; least: number }) => {
      if (away.length > 0) throw away.shift()
      const taken = Math.min(by, left)
      if (taken < least) return { outcome: 'refused', reason: 'balance' } as const
      left -= taken
      return { outcome: 'held', held: (held += taken) } as const
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
  return { faults, hold, othersNeed }
}

test('a turn that took a part of what it wanted waits no longer', async () => {
  const { faults, hold, othersNeed } = beginTurn({ free: 50 })
  expect(await hold.coverSome(chatUse({ completionTokens: 500 }), chatUse({ completionTokens: 120 }))).toBe(true)
  expect(hold.held).toBe(150)
  expect(await othersNeed()).toBe(850)
  expect(faults).toEqual([])
})

test('a hold whose wait fails is a fault of its turn, and can still grow', async () => {
  const lost = new Error('the connection was lost')
  const { faults, hold, othersNeed } = beginTurn({ free: 50, heldOf: () => Promise.reject(lost) })
  expect(await hold.cover(chatUse({ completionTokens: 500 }))).toBe(false)
  expect(faults).toEqual([lost])
  expect(await othersNeed()).toBe(900)
  expect(await hold.cover(chatUse({ completionTokens: 140 }))).toBe(true)
})

test('a hold waits for a database that is away, and what fails for another reason is a fault of its turn', async () => {
  const unavailable = () => new ErrandError('SERVICE_UNAVAILABLE', 'The database cannot be reached.')
  const lost = new Error('a defect')
  const { faults, hold } = beginTurn({ free: 500, away: [unavailable(), unavailable()] })
  expect(await hold.cover(chatUse({ completionTokens: 300 }))).toBe(true)
  expect([hold.held, faults]).toEqual([300, []])
  const other = beginTurn({ free: 50, heldOf: () => Promise.resolve(0), away: [lost] })
  expect(await other.hold.coverSome(chatUse({ completionTokens: 120 }), chatUse({ completionTokens: 110 }))).toBe(true)
  expect(other.faults).toEqual([lost])
})

test('of turns that all wait for each other the last one to have come gives up, in whatever order they ask again', async () => {
  const users = new UserTurns()
  // Asking takes its time, one after another.
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
