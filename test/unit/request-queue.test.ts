import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { RequestQueue } from '../../server/http/limits/request-queue.ts'

/** Creates a queue whose requests take this long each. `ticks` has the callers served in each tick. */
function newQueue(requestMs: number, hasBacklog = () => false) {
  const ticks: string[][] = [[]]
  const turnedAway: string[] = []
  const note = ({ headers }: IncomingMessage) => headers.authorization ?? ''
  const queue = new RequestQueue({
    hasBacklog,
    serve: ({ request, response }) => {
      ticks.at(-1)!.push(note(request))
      const end = performance.now() + ('isSlow' in response ? 50 : requestMs)
      while (performance.now() < end);
    },
    turnAway: ({ request }) => void turnedAway.push(note(request)),
  })
  const requestOf = (authorization: string) => ({ headers: { authorization } }) as IncomingMessage
  for (const user of ['many', 'one', 'gone']) queue.know(requestOf(user), user)
  queue.know(requestOf('many again'), 'many')
  queue.know(requestOf('Bearer key'), 'one')
  const take = (authorization: string, response = {}) =>
    queue.take({ request: requestOf(authorization), response: response as ServerResponse })
  const served = async (count: number) => {
    const end = performance.now() + 10_000
    while (ticks.flat().length < count && performance.now() < end) {
      await nextTick()
      ticks.push([])
    }
    expect(ticks.flat().length).toBe(count)
  }
  const know = (authorization: string, user: string) => queue.know(requestOf(authorization), user)
  return { know, served, take, ticks, turnedAway }
}

test('spreads simultaneous requests over several ticks, rotating between users', async () => {
  const { served, take, ticks, turnedAway } = newQueue(3)
  for (let n = 0; n < 30; n++) take('many')
  take('one')
  await served(31)
  expect(turnedAway).toEqual([])
  // Three fit into 8 ms, before the first tick's end and after it.
  for (const tick of ticks) expect(tick.length).toBeLessThanOrEqual(8)
  expect(ticks.flat().indexOf('one')).toBeLessThanOrEqual(8)
})

test('starts no request while commands wait for the database, then rotates between users', async () => {
  let waiting = 1
  const { served, take, ticks } = newQueue(0, () => waiting > 0)
  for (let n = 0; n < 20; n++) take('many')
  take('one')
  await delay(20)
  expect(ticks.flat()).toEqual([])
  waiting = 0
  await served(21)
  expect(ticks.flat().indexOf('one')).toBeLessThanOrEqual(1)
})

test('does not serve a request whose client has disconnected', async () => {
  const { served, take, ticks } = newQueue(3)
  for (let n = 0; n < 10; n++) take('many')
  take('gone', { destroyed: true })
  take('one')
  await served(11)
  expect(ticks.flat()).not.toContain('gone')
})

test('rejects requests only of the user with a thousand waiting requests', async () => {
  const { served, take, ticks, turnedAway } = newQueue(0.4)
  for (let n = 0; n < 1100; n++) take('many')
  take('one')
  expect(turnedAway.length).toBe(1100 - 1000 - ticks.flat().length)
  expect(new Set(turnedAway)).toEqual(new Set(['many']))
  await served(1101 - turnedAway.length)
  expect(ticks.flat().indexOf('one')).toBeLessThanOrEqual(60)
})

test('once half of the queue is taken, a user may use an eighth of it', async () => {
  const { know, served, take, ticks, turnedAway } = newQueue(0)
  const users = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth']
  for (const user of users) know(user, user)
  // One request uses up this tick, so the later ones wait.
  take('first', { isSlow: true })
  const begun = ticks.flat().length
  for (const user of users) for (let n = 0; n < 1100; n++) take(user)
  const waiting = users.map((user) => 1100 - turnedAway.filter((one) => one === user).length)
  expect(waiting).toEqual([1000, 1000, 500, 500, 500, 500])
  await served(begun + 4000)
})

test('unknown callers are queued as one user and leave room for known users', async () => {
  const { served, take, ticks, turnedAway } = newQueue(0.4)
  for (let n = 0; n < 5000; n++) take(`made up ${n}`)
  take('one')
  expect(turnedAway.length).toBe(5000 - 1000 - ticks.flat().length)
  expect(turnedAway).not.toContain('one')
  await served(5001 - turnedAway.length)
  expect(ticks.flat().indexOf('one')).toBeLessThanOrEqual(60)
})

test('a user with several credentials is queued as one user', async () => {
  const { served, take, ticks } = newQueue(3)
  for (let n = 0; n < 10; n++) for (const credentials of ['many', 'many again']) take(credentials)
  take('one')
  take('one')
  await served(22)
  const last = ticks.flat().lastIndexOf('one')
  const before = ticks.flat().slice(ticks.flat().indexOf('one'), last)
  expect(before.length).toBeLessThanOrEqual(2)
})

test("many credentials of one user evict no other user's, and spelling variants of a header count as one", async () => {
  const { know, served, take, ticks } = newQueue(3)
  know('Bearer key', 'one')
  for (let n = 0; n < 20_000; n++) know(`many ${n}`, 'many')
  for (let n = 0; n < 30; n++) take(`made up ${n}`)
  take('bEARER    key')
  take('gone')
  await served(32)
  // Both wait only for the unknown callers admitted immediately, and for one more per rotation.
  const places = ['bEARER    key', 'gone'].map((written) => ticks.flat().indexOf(written))
  expect(Math.max(...places)).toBeLessThanOrEqual(12)
})
