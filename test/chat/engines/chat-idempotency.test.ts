import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { say } from '../../support/chat-agents.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { temporaryFolder } from '../../support/resources.ts'
import { expectOneEnd, expectSound, startTalk, Talker } from '../chat-checks.ts'

const once = { 'idempotency-key': 'chat-1' }

test('a reused Idempotency-Key replays the same message, and gets 409 for another message or session', async () => {
  const service = await startTalk({ limits: { executionsPerMinute: 10 } })
  const talker = await Talker.create(service)
  const other = await talker.another()
  const first = await talker.open('Hello', { headers: once })
  expectOneEnd(await first.all(), 'done')
  const failed = { 'idempotency-key': 'chat-2' }
  const failing = say({ do: 'throw', message: 'No.' })
  const second = await talker.open(failing, { headers: failed })
  expectOneEnd(await second.all(), 'error')
  const before = await talker.state()
  for (const [earlier, message, headers] of [
    [first, 'Hello', once],
    [second, failing, failed],
  ] as const) {
    const same = await talker.open(message, { headers })
    await same.all()
    expect([same.status, same.text]).toEqual([200, earlier.text])
    expect(same.headers['errand-turn-id']).toBe(earlier.headers['errand-turn-id'])
    for (const refused of [await talker.open('Other', { headers }), await other.open('Hello', { headers })]) {
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

test('exactly one of twenty concurrent chats with the same key in different sessions runs', async () => {
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

test('twenty concurrent chats with the same key in one session run once and share the reply', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const readers = await Promise.all(Array.from({ length: 20 }, () => talker.open('Hello', { headers: once })))
  await Promise.all(readers.map((reader) => reader.all()))
  const [first] = readers
  expectOneEnd(
    first!.events.map(({ event }) => event),
    'done',
  )
  for (const { headers, status, text } of readers) {
    expect([status, text]).toEqual([200, first!.text])
    expect(headers['errand-turn-id']).toBe(first!.headers['errand-turn-id'])
  }
  const answered = join(temporaryFolder('idempotency'), 'answered')
  const other = say({ do: 'text', delta: 'x' }, { do: 'await-file', file: answered })
  const mixed = await Promise.all(
    [1, 2, 3, 4].map((n) => talker.open(other, { headers: { 'idempotency-key': `m${n}` } })),
  )
  expect(mixed.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409])
  writeFileSync(answered, '')
  await Promise.all(mixed.map((reader) => reader.all()))
  expect(await talker.charges()).toHaveLength(2)
  await expectSound(talker)
  await service.stop()
})

test('concurrent chats with the same key do not deadlock if all of them are rejected', async () => {
  const service = await startTalk()
  const poor = await Talker.create(service, { balanceUsd: '0' })
  const readers = await Promise.all(Array.from({ length: 8 }, () => poor.open('Hello', { headers: once })))
  expect(readers.map(({ status }) => status)).toEqual(Array(8).fill(403))
  await service.stop()
})

test('a rejected chat leaves its key unused; keys are per user and expire after 24 hours', async () => {
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
  expect((await rich.open('Hello', { headers: once })).status).toBe(200)
  expect((await rich.charges()).length).toBe(1)
  clock.advance(2)
  expectOneEnd(await (await rich.open('Hello', { headers: once })).all(), 'done')
  await service.stop()
})

test('rejects a malformed Idempotency-Key with 400 and writes nothing', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const before = await talker.state()
  const refused = await talker.open('Hello', { headers: { 'idempotency-key': 'x'.repeat(1000) } })
  await refused.all()
  expect(refused.status).toBe(400)
  expect(await talker.state()).toEqual(before)
  await service.stop()
})
