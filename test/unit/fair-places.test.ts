import assert from 'node:assert/strict'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FairPlaces, type Place } from '../../server/kernel/fair-places.ts'

const { signal } = new AbortController()

/** Creates slots. `taken` other users have one slot each. */
async function slots({ perUser, taken, total }: { perUser: number; taken: number; total: number }) {
  const places = new FairPlaces({ perUser, total })
  for (let n = 0; n < taken; n++) await places.take(`other ${n}`, { signal })
  return places
}

test('a user may take the per-user limit, or an eighth once half is taken', () => {
  const places = new FairPlaces({ total: 80 })
  expect(places.perUser).toBe(40)
  const [one, more, small] = [places.open('one'), places.open('one'), places.open('two')]
  expect(one.hold(41)).toBe('share')
  expect(one.amount).toBe(0)
  expect(one.hold(30)).toBeUndefined()
  expect(small.hold(5)).toBeUndefined()
  expect(more.hold(5)).toBeUndefined()
  // Half of the slots are taken.
  expect(more.hold(6)).toBe('share')
  const second = places.open('two')
  expect(second.hold(6)).toBe('share')
  expect(second.hold(5)).toBeUndefined()
  one.release()
  expect(more.hold(40)).toBeUndefined()
})

test('a single item may exceed an eighth, but not the total', () => {
  const places = new FairPlaces({ total: 80 })
  for (const userId of ['one', 'two']) expect(places.open(userId).hold(30)).toBeUndefined()
  expect(places.open('three').hold(21)).toBe('full')
  expect(places.open('three').hold(20)).toBeUndefined()
  expect(places.taken).toBe(80)
})

test('evicts the slowest slot of the largest user to make room for a user within an eighth', () => {
  let now = 0
  const places = new FairPlaces({ total: 80, now: () => now })
  const givenUp: string[] = []
  const open = (userId: string, what: string) => places.open(userId, () => givenUp.push(what))
  const slow = open('greedy', 'slow')
  now = 1000
  const fast = open('greedy', 'fast')
  now = 2000
  expect([slow.hold(20), fast.hold(15)]).toEqual([undefined, undefined])
  const middling = open('middling', 'middling')
  expect(middling.hold(25)).toBeUndefined()
  const small = ['a', 'b'].map((userId) => open(userId, userId))
  for (const place of small) expect(place.hold(10)).toBeUndefined()
  expect(places.taken).toBe(80)
  // A user with more than an eighth cannot displace others.
  expect(open('large', 'large').hold(11)).toBe('full')
  expect(givenUp).toEqual([])
  // 20 slots in two seconds are slower than 15 slots in one second.
  const honest = open('honest', 'honest')
  expect(honest.hold(10)).toBeUndefined()
  expect(givenUp).toEqual(['slow'])
  expect([slow.amount, fast.amount, places.taken]).toEqual([0, 15, 70])
  expect(open('filler', 'filler').hold(10)).toBeUndefined()
  // Kept slots are not evicted.
  middling.keep()
  expect(open('next', 'next').hold(10)).toBeUndefined()
  expect(givenUp).toEqual(['slow', 'fast'])
  expect(places.taken).toBe(75)
  expect(open('last', 'last').hold(10)).toBe('full')
  expect(open('last', 'last').hold(5)).toBeUndefined()
})

test('a released slot stays empty, and shrinking always succeeds', () => {
  const places = new FairPlaces({ total: 8, perUser: 8 })
  const place = places.open('one')
  expect(place.hold(8)).toBeUndefined()
  expect(place.hold(7)).toBeUndefined()
  for (let n = 0; n < 2; n++) place.release()
  expect(place.hold(1)).toBe('full')
  expect([place.amount, places.taken]).toEqual([0, 0])
})

type Op = { user: number; at: number; what: 'hold' | 'keep' | 'release'; amount: number; ms: number }
const op: fc.Arbitrary<Op> = fc.record({
  user: fc.integer({ min: 0, max: 9 }),
  at: fc.integer({ min: 0, max: 2 }),
  what: fc.constantFrom('hold', 'hold', 'hold', 'hold', 'hold', 'hold', 'hold', 'hold', 'keep', 'release'),
  amount: fc.integer({ min: 0, max: 40 }),
  ms: fc.integer({ min: 0, max: 100 }),
})

test('never exceeds the total, and protects users within an eighth from larger ones', () => {
  const total = 100
  const share = total / 8
  let givenUpInAll = 0
  fc.assert(
    fc.property(
      fc.array(op, { minLength: 50, maxLength: 200, size: 'max' }),
      fc.constantFrom(5, 30, 50, total),
      (ops, perUser) => {
        let now = 0
        const places = new FairPlaces({ total, perUser, now: () => now })
        type Known = { place: Place; user: number; yields: boolean }
        const open = new Map<string, Known>()
        const sumOf = (user?: number) =>
          [...open.values()].reduce(
            (sum, known) => (user === undefined || known.user === user ? sum + known.place.amount : sum),
            0,
          )
        let before = new Map<number, number>()
        for (const { amount, at, ms, user, what } of ops) {
          now += ms
          const key = `${user} ${at}`
          if (!open.has(key)) {
            const onReclaimed = () => {
              givenUpInAll++
              assert(before.get(user)! > share, 'a place of a user within an eighth was given up')
              assert(open.get(key)!.yields && open.get(key)!.place.amount === 0, 'a place that was kept was given up')
            }
            open.set(key, { place: places.open(String(user), onReclaimed), user, yields: true })
          }
          const known = open.get(key)!
          before = new Map(Array.from({ length: 10 }, (_, one) => [one, sumOf(one)]))
          if (what === 'keep') {
            known.place.keep()
            known.yields = false
          } else if (what === 'release') {
            known.place.release()
            open.delete(key)
          } else {
            const from = known.place.amount
            const refusal = known.place.hold(amount)
            assert(known.place.amount === (refusal ? from : amount), 'an amount is wrong')
            const own = before.get(user)! - from + amount
            assert(!refusal || amount > from, 'less was refused')
            if (refusal && own <= Math.min(share, perUser)) {
              const isBeyond = ({ place, user: one, yields }: Known) => yields && place.amount > 0 && sumOf(one) > share
              assert(refusal === 'full' && ![...open.values()].some(isBeyond), 'a user within an eighth was refused')
            }
          }
          assert(places.taken === sumOf() && places.taken <= total, 'the sum is wrong')
          for (const { place, user: one } of open.values()) {
            assert(place.amount >= 0 && sumOf(one) <= perUser, 'a user has too much')
          }
        }
        for (const { place } of open.values()) place.release()
        expect(places.taken).toBe(0)
      },
    ),
    { numRuns: 500 },
  )
  expect(givenUpInAll).toBeGreaterThan(100)
})

test('a request for several slots keeps its place in line without blocking other users', async () => {
  const places = await slots({ perUser: 3, total: 24, taken: 20 })
  const entered: string[] = []
  const take = (userId: string, name: string, count = 1, until = signal) =>
    places.take(userId, { count, signal: until }).then(
      () => entered.push(name),
      () => entered.push(`${name} left`),
    )
  const gave = async () => {
    await new Promise(setImmediate)
    return entered.splice(0)
  }
  await take('one', 'first', 2)
  const leaver = new AbortController()
  void take('one', 'three', 3, leaver.signal)
  void take('one', 'behind')
  void take('two', 'other')
  expect(await gave()).toEqual(['first', 'other'])
  places.give('one')
  expect(await gave()).toEqual([])
  leaver.abort()
  expect((await gave()).toSorted()).toEqual(['behind', 'three left'])
})

test('serves waiting users in rotation, and their requests in order', async () => {
  const places = await slots({ perUser: 3, total: 24, taken: 20 })
  const entered: string[] = []
  const take = (userId: string, name: string, count = 1) =>
    void places.take(userId, { count, signal }).then(() => entered.push(name))
  const gave = async (userId: string) => {
    places.give(userId)
    await new Promise(setImmediate)
    return entered.splice(0)
  }
  for (const userId of ['one', 'one', 'two', 'two']) await places.take(userId, { signal })
  for (let n = 1; n <= 10; n++) take('greedy', `greedy ${n}`)
  take('honest', 'honest 1')
  take('honest', 'honest 2')
  take('last', 'last')
  expect(places.waiting('greedy')).toBe(10)
  expect(await gave('one')).toEqual(['greedy 1'])
  expect(await gave('one')).toEqual(['honest 1'])
  expect(await gave('two')).toEqual(['last'])
  expect(await gave('two')).toEqual(['greedy 2'])
  expect(await gave('last')).toEqual(['honest 2'])
  expect(await gave('honest')).toEqual(['greedy 3'])
  expect(await gave('honest')).toEqual([])
  expect(await gave('greedy')).toEqual(['greedy 4'])
})

test('once half of the slots are taken, only users with an eighth wait', async () => {
  const places = await slots({ perUser: 16, total: 16, taken: 0 })
  const entered: string[] = []
  const take = (userId: string) => void places.take(userId, { signal }).then(() => entered.push(userId))
  for (let n = 0; n < 10; n++) take('greedy')
  for (let n = 0; n < 4; n++) take('honest')
  await new Promise(setImmediate)
  expect(entered).toEqual([...Array<string>(8).fill('greedy'), 'honest', 'honest'])
  for (let n = 0; n < 3; n++) places.give('greedy')
  await new Promise(setImmediate)
  expect(entered.slice(10)).toEqual(['greedy'])
})

test('a request aborted after it got its slot keeps the slot, and later requests still enter', async () => {
  const places = new FairPlaces({ perUser: 1 })
  const [first, second] = [new AbortController(), new AbortController()]
  await places.take('one', { signal: first.signal })
  const waits = [first, second].map(({ signal: until }) => places.take('one', { signal: until }))
  places.give('one')
  first.abort()
  await waits[0]
  places.give('one')
  await waits[1]
  places.give('one')
  expect(places.taken).toBe(0)
})
