import { expect, test } from 'vitest'
import { say } from '../support/chat-agents.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { expectOneEnd, startTalk, Talker } from './chat-checks.ts'

const once = { 'idempotency-key': 'chat-1' }

test('a used Idempotency-Key is 409 and never runs twice, whatever the body, the session or the end of the first', async () => {
  const service = await startTalk({ limits: { executionsPerMinute: 10 } })
  const talker = await Talker.create(service)
  const other = await talker.another()
  expectOneEnd(await (await talker.open('Hello', { headers: once })).all(), 'done')
  const failed = { 'idempotency-key': 'chat-2' }
  expectOneEnd(await (await talker.open(say({ do: 'throw', message: 'No.' }), { headers: failed })).all(), 'error')
  const before = await talker.state()
  for (const headers of [once, failed]) {
    for (const refused of [
      await talker.open('Hello', { headers }),
      await talker.open('Other', { headers }),
      await other.open('Hello', { headers }),
    ]) {
      await refused.all()
      expect([refused.status, refused.headers['content-type']]).toEqual([409, 'application/json; charset=utf-8'])
      expect(JSON.parse(refused.text)).toMatchObject({ error: 'Conflict', statusCode: 409, code: 'CONFLICT' })
      expect(refused.headers['x-ratelimit-remaining']).toBe('8')
    }
  }
  expect(await talker.state()).toEqual(before)
  expect(await other.session()).toMatchObject({ messageCount: 0 })
  await service.stop()
})

test('of twenty chats at one moment with one key, each in a session of its own, exactly one runs', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd: '1000' })
  const talkers = [talker, ...(await Promise.all(Array.from({ length: 19 }, () => talker.another())))]
  const readers = await Promise.all(talkers.map((one) => one.open('Hello', { headers: once })))
  await Promise.all(readers.map((reader) => reader.all()))
  expect(readers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(19).fill(409)])
  expect((await service.get('/api/transactions?type=chat_charge', talker.key)).body.total).toBe(1)
  expect(await talker.account()).toMatchObject({ heldUsd: '0.0000' })
  await service.stop()
})

test("a refused chat leaves its key unused; keys are each user's own, and are forgotten after 24 hours", async () => {
  const clock = new FakeClock()
  const service = await startTalk({ clock, limits: { sessionIdleSeconds: 1_000_000 } })
  const poor = await Talker.create(service, { balanceUsd: '0' })
  const rich = await Talker.create(service)
  expect((await poor.open('Hello', { headers: once })).status).toBe(403)
  const { userId } = poor.person
  await service.app.store.credit({ userId, amount: 50_000, description: 'More', idempotencyKey: null })
  expectOneEnd(await (await poor.open('Hello', { headers: once })).all(), 'done')
  expectOneEnd(await (await rich.open('Hello', { headers: once })).all(), 'done')
  clock.advance(86_400_000 - 1)
  expect((await rich.open('Hello', { headers: once })).status).toBe(409)
  clock.advance(2)
  expectOneEnd(await (await rich.open('Hello', { headers: once })).all(), 'done')
  await service.stop()
})

test('a malformed Idempotency-Key is 400, and nothing is written', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const before = await talker.state()
  const refused = await talker.open('Hello', { headers: { 'idempotency-key': 'x'.repeat(1000) } })
  await refused.all()
  expect(refused.status).toBe(400)
  expect(await talker.state()).toEqual(before)
  await service.stop()
})
