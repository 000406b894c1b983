import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService } from '../support/test-service.ts'
import { rejection } from './rejection.ts'

const config = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'talk',
      name: 'Talker',
      chat: {
        pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0' },
        async *reply({ message }) {
          yield { type: 'text', delta: message }
        },
      },
    },
  ],
})

const priced = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'talk',
      name: 'Talker',
      endpoints: { echo: { description: 'Repeats.', priceUsd: '0.0100', params: {}, run: ({ params }) => params } },
      chat: {
        pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0.1' },
        async *reply({ message }) {
          for (const delta of message.match(/.{100}/g)!) {
            yield { type: 'text', delta }
            // Pauses after each delta, because the service holds the cost of deltas that arrive together in one step.
            await delay(5)
          }
        },
      },
    },
  ],
})

test('every session method returns the same as REST', async () => {
  const service = await startService({ config })
  const { key, userId } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const rest = async (path: string) => (await service.get(path, key)).body

  const created = await client.sessions.create({ agentId: 'talk', metadata: { topic: 'x' } })
  expect(created).toMatchObject({ sessionId: expect.any(String), agentId: 'talk', status: 'active' })
  const { sessionId } = created
  const session = await client.sessions.get({ sessionId })
  expect(session).toMatchObject({ id: sessionId, userId, metadata: { topic: 'x' }, messageCount: 0 })
  expect(session).toEqual(await rest(`/api/sessions/${sessionId}`))
  await client.sessions.create({ agentId: 'talk' })
  expect((await client.sessions.list()).total).toBe(2)
  expect(await client.sessions.list()).toEqual(await rest('/api/sessions'))
  const page = { status: 'active', agentId: 'talk', limit: 1, offset: 1 } as const
  expect(await client.sessions.list(page)).toEqual(
    await rest('/api/sessions?status=active&agentId=talk&limit=1&offset=1'),
  )

  await client.chat.text({ sessionId, message: 'Hello' })
  const { messages } = await client.sessions.messages({ sessionId, limit: 1, offset: 1 })
  expect(messages).toMatchObject([{ role: 'assistant', content: 'Hello' }])
  expect(await client.sessions.messages({ sessionId })).toEqual(await rest(`/api/sessions/${sessionId}/messages`))

  const metadata = { topic: null, done: true }
  const updated = await client.sessions.update({ sessionId, status: 'completed', metadata })
  expect(updated).toMatchObject({ id: sessionId, status: 'completed', metadata: { done: true } })
  expect(await client.sessions.delete({ sessionId })).toEqual({ message: expect.any(String) })
  expect(await rejection(client.sessions.get({ sessionId }))).toMatchObject({ code: 'NOT_FOUND', status: 404 })
  await service.stop()
})

test('the client sets and reads caps and quotes', async () => {
  const service = await startService({ config: priced })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { sessionId } = await client.sessions.create({ agentId: 'talk', maxCostUsd: '0.0500' })
  expect(await client.sessions.get({ sessionId })).toMatchObject({ maxCostUsd: '0.0500', spentUsd: '0.0000' })
  const chat = { sessionId, message: ' a'.repeat(600) }
  expect(await rejection(client.chat.text(chat))).toMatchObject({ code: 'BUDGET_REACHED', costUsd: expect.any(String) })
  const { spentUsd } = await client.sessions.get({ sessionId })
  const low = client.sessions.update({ sessionId, maxCostUsd: '0' })
  expect(await rejection(low)).toMatchObject({ code: 'CONFLICT', message: expect.stringContaining(spentUsd) })
  const raised = await client.sessions.update({ sessionId, maxCostUsd: null })
  expect(raised).not.toHaveProperty('maxCostUsd')
  expect(await rejection(client.chat.text({ ...chat, maxCostUsd: '0' }))).toMatchObject({
    code: 'BUDGET_REACHED',
    status: 403,
  })
  const { quoteId, worstCaseUsd } = await client.quotes.create({ chat: { ...chat, maxCostUsd: '1' } })
  expect(worstCaseUsd).toBe('1.0000')
  expect((await client.chat.text({ ...chat, quoteId })).costUsd).toMatch(/^0\.\d{4}$/)
  const task = { endpointId: 'talk.echo', params: { n: 1 } }
  const quote = await client.quotes.create({ task })
  expect(quote).toMatchObject({ priceUsd: '0.0100', worstCaseUsd: '0.0100' })
  expect(await client.tasks.run({ ...task, quoteId: quote.quoteId })).toMatchObject({ costUsd: '0.0100' })
  expect(await rejection(client.tasks.create({ ...task, quoteId: quote.quoteId }))).toMatchObject({ code: 'CONFLICT' })
  expect(await rejection(client.tasks.create({ ...task, maxCostUsd: '0.0099' }))).toMatchObject({
    code: 'BUDGET_REACHED',
  })
  await service.stop()
})

test('a retried create with the same key returns the same session; other input is rejected', async () => {
  const service = await startService({ config })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const input = { agentId: 'talk', metadata: { n: 1 } }
  const first = await client.sessions.create(input, { idempotencyKey: 'session-1' })
  expect(await client.sessions.create(input, { idempotencyKey: 'session-1' })).toEqual(first)
  const other = client.sessions.create({ agentId: 'talk' }, { idempotencyKey: 'session-1' })
  expect(await rejection(other)).toMatchObject({ code: 'CONFLICT', status: 409 })
  const unfit = client.sessions.create(input, { idempotencyKey: 'two words' })
  expect(await rejection(unfit)).toMatchObject({ code: 'INVALID_ARGUMENT', status: undefined })
  expect((await client.sessions.list()).total).toBe(1)
  await service.stop()
})

test('getOrCreate returns the same active session, and continues an expired one', async () => {
  const clock = new FakeClock(Date.now())
  const service = await startService({ config, clock })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const document = { agentId: 'talk', externalId: 'docs/ä 1', title: 'A document' }
  const open = (of: object = {}) => client.sessions.getOrCreate({ ...document, ...of })
  const opened = await Promise.all([open(), open(), open({ title: 'Another title' })])
  const [{ sessionId }] = opened
  expect(opened.map((one) => one.sessionId)).toEqual([sessionId, sessionId, sessionId])
  expect(await client.sessions.get({ sessionId })).toMatchObject({ tags: { externalId: 'docs/ä 1' } })
  await client.chat.text({ sessionId, message: 'Hello' })
  expect(await open()).toMatchObject({ sessionId, agentId: 'talk', status: 'active' })
  expect((await open({ externalId: 'docs/2' })).sessionId).not.toBe(sessionId)

  clock.advance(2 * 24 * 3_600_000)
  const renewed = await Promise.all([open(), open()])
  const [next] = renewed
  expect(next.sessionId).not.toBe(sessionId)
  expect(renewed[1]).toMatchObject({ sessionId: next.sessionId })
  expect(await client.sessions.get(next)).toMatchObject({ continues: sessionId, title: 'A document' })

  await client.sessions.update({ sessionId: next.sessionId, status: 'completed' })
  const { sessionId: fresh } = await open()
  expect(await client.sessions.get({ sessionId: fresh })).not.toHaveProperty('continues')
  for (const id of [fresh, next.sessionId, sessionId]) await client.sessions.delete({ sessionId: id })
  const again = await open()
  expect([sessionId, next.sessionId, fresh]).not.toContain(again.sessionId)
  expect(await rejection(open({ externalId: 'x'.repeat(181) }))).toMatchObject({ code: 'INVALID_ARGUMENT' })
  await service.stop()
})
