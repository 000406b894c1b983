import { expect, test } from 'vitest'
import { createClient, type ChatEvent } from '../../client/client.ts'
import { defineConfig, type ChatPart } from '../../server/agents/config/define-config.ts'
import { startService } from '../support/test-service.ts'
import { createBrowserFetch } from './browser-fetch.ts'
import { collect } from './chat-answers.ts'
import { rejection } from './rejection.ts'

// Tests the client together with the service; each also has separate tests.

/** Replies depend on the message. */
const config = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'talk',
      name: 'Talker',
      chat: {
        pricing: { inputPer1kUsd: '1', outputPer1kUsd: '2', toolCallUsd: '0.1', reasoningPer1kUsd: '3' },
        reasoning: true,
        async *reply({ history, message, signal }): AsyncGenerator<ChatPart> {
          yield { type: 'reasoning', delta: 'Let me see. ' }
          yield { type: 'tool-call', id: 'call-1', name: 'count', arguments: { of: message } }
          yield { type: 'tool-result', id: 'call-1', output: { messages: history.length } }
          yield { type: 'text', delta: 'Grüße 👋 ' }
          if (message === 'fail') throw new Error('It failed.')
          if (message === 'hang') await new Promise((resolve) => signal.addEventListener('abort', resolve))
          yield { type: 'text', delta: message }
          yield { type: 'usage', promptTokens: 100, completionTokens: 60, reasoningTokens: 10 }
        },
      },
    },
  ],
})

const startTalk = async (options: Parameters<typeof startService>[0] = {}) => {
  const service = await startService({ config, ...options })
  const person = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: person.key })
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  return { ...person, client, service, sessionId }
}

const cost = '0.3300'
const usage = { promptTokens: 100, completionTokens: 60, totalTokens: 160, reasoningTokens: 10, toolCalls: 1 }

test("a streamed reply has the service's events and is charged its reported cost", async () => {
  const { client, service, sessionId } = await startTalk()
  const stream = client.chat.stream({ sessionId, message: 'Hello' })
  const events = await collect(stream)
  expect(stream.requestId).toMatch(/^req_/)
  expect(merge(events)).toMatchObject([
    { type: 'reasoning_delta', delta: 'Let me see. ' },
    { type: 'tool_call', toolCall: { id: 'call-1', name: 'count', arguments: { of: 'Hello' } } },
    { type: 'tool_result', toolResult: { id: 'call-1', output: { messages: 0 } } },
    { type: 'assistant_delta', delta: 'Grüße 👋 Hello' },
    { type: 'done', usage, costUsd: cost },
  ])
  expect((await client.account.get()).balanceUsd).toBe('9.6700')
  expect((await client.transactions.list({ type: 'chat_charge' })).transactions).toMatchObject([
    { sessionId, amountUsd: `-${cost}` },
  ])
  await service.stop()
})

test('`text` returns the reply stored in the session, and the next message sees it', async () => {
  const { client, service, sessionId } = await startTalk()
  const reply = await client.chat.text({ sessionId, message: 'Hello', params: { temperature: 0, maxTokens: 100 } })
  const toolCalls = [{ id: 'call-1', name: 'count', arguments: { of: 'Hello' }, output: { messages: 0 } }]
  expect(reply).toEqual({ text: 'Grüße 👋 Hello', reasoning: 'Let me see. ', toolCalls, usage, costUsd: cost })
  const { messages } = await client.sessions.messages({ sessionId })
  expect(messages).toMatchObject([
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: reply.text, toolCalls },
  ])
  const next = await client.chat.text({ sessionId, message: 'Again' })
  expect(next.toolCalls[0]!.output).toEqual({ messages: 2 })
  await service.stop()
})

test('a failed reply is free; the stream ends with its error, and `text` throws it', async () => {
  const { client, service, sessionId } = await startTalk()
  const input = { sessionId, message: 'fail' }
  expect((await collect(client.chat.stream(input))).at(-1)).toMatchObject({
    type: 'error',
    error: { code: 'AGENT_ERROR', message: 'It failed.' },
    costUsd: '0.0000',
  })
  expect(await rejection(client.chat.text(input))).toMatchObject({ code: 'AGENT_ERROR', costUsd: '0.0000' })
  expect((await client.account.get()).balanceUsd).toBe('10.0000')
  await service.stop()
})

test('leaving early ends the reply, and the service stores and charges the part produced so far', async () => {
  const { client, service, sessionId } = await startTalk()
  for await (const event of client.chat.stream({ sessionId, message: 'hang' })) {
    if (event.type === 'assistant_delta') break
  }
  // The session accepts the next message once the abandoned reply is settled.
  let messages: unknown[] = []
  while (messages.length === 0) messages = (await client.sessions.messages({ sessionId })).messages
  expect(messages).toMatchObject([
    { role: 'user', content: 'hang' },
    { role: 'assistant', truncated: true },
  ])
  expect((await client.transactions.list({ type: 'chat_charge' })).total).toBe(1)
  expect((await client.chat.text({ sessionId, message: 'Hello' })).text).toBe('Grüße 👋 Hello')
  await service.stop()
})

test('errors of the service keep their codes and statuses', async () => {
  const { client, service, sessionId } = await startTalk({ limits: { executionsPerMinute: 1 } })
  const refused = (input: { sessionId: string; message: string }) => rejection(client.chat.text(input))
  expect(await refused({ sessionId: 'sess_none', message: 'x' })).toMatchObject({
    code: 'SESSION_NOT_FOUND',
    status: 404,
    requestId: expect.stringMatching(/^req_/),
  })
  expect(await refused({ sessionId, message: '' })).toMatchObject({
    code: 'BAD_REQUEST',
    status: 400,
    details: [{ path: 'message' }],
  })
  const wrong = createClient({ baseUrl: service.url, apiKey: 'wrong' })
  const input = { sessionId, message: 'Hello' }
  expect(await rejection(wrong.chat.text(input))).toMatchObject({ code: 'UNAUTHORIZED', status: 401 })

  const stream = client.chat.stream({ sessionId, message: 'hang' })
  await stream.next()
  expect(await refused(input)).toMatchObject({ code: 'SESSION_BUSY', status: 409 })
  await stream.return()
  const other = await client.sessions.create({ agentId: 'talk' })
  expect(await refused({ ...input, sessionId: other.sessionId })).toMatchObject({
    code: 'RATE_LIMIT_EXCEEDED',
    status: 429,
    retryAfterSeconds: expect.any(Number),
  })
  await client.sessions.update({ sessionId: other.sessionId, status: 'completed' })
  expect(await refused({ ...input, sessionId: other.sessionId })).toMatchObject({
    code: 'SESSION_COMPLETED',
    status: 409,
  })
  const poor = await service.createPerson({ balanceUsd: '0.0001' })
  const poorClient = createClient({ baseUrl: service.url, apiKey: poor.key })
  const own = await poorClient.sessions.create({ agentId: 'talk' })
  expect(await rejection(poorClient.chat.text({ ...input, sessionId: own.sessionId }))).toMatchObject({
    code: 'INSUFFICIENT_BALANCE',
    status: 403,
  })
  await service.stop()
})

test('a page of another origin can chat and sees full error details', async () => {
  const { key, service, sessionId } = await startTalk({ limits: { executionsPerMinute: 1 } })
  const { fetch, preflights } = createBrowserFetch('https://app.example.com')
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  expect((await client.chat.text({ sessionId, message: 'Hello' })).text).toBe('Grüße 👋 Hello')
  expect(preflights).toEqual(['POST authorization, content-type'])
  expect(await rejection(client.chat.text({ sessionId, message: 'Hello' }))).toMatchObject({
    code: 'RATE_LIMIT_EXCEEDED',
    retryAfterSeconds: expect.any(Number),
    requestId: expect.stringMatching(/^req_/),
  })
  await service.stop()
})

/** Merges successive deltas of one kind, because the service may split text anywhere. */
function merge(events: readonly ChatEvent[]): ChatEvent[] {
  const merged: ChatEvent[] = []
  for (const event of events) {
    const last = merged.at(-1)
    if (last && 'delta' in last && 'delta' in event && last.type === event.type) {
      merged[merged.length - 1] = { ...last, delta: last.delta + event.delta }
    } else merged.push(event)
  }
  return merged
}

test('a message with an idempotencyKey runs once; a malformed key is rejected before sending', async () => {
  const { client, service, sessionId } = await startTalk()
  const idempotencyKey = 'key-of-a-message'
  const reply = await client.chat.text({ sessionId, message: 'Hello' }, { idempotencyKey })
  expect(await client.chat.text({ sessionId, message: 'Hello' }, { idempotencyKey })).toEqual(reply)
  const another = client.chat.text({ sessionId, message: 'Hello!' }, { idempotencyKey })
  expect(await rejection(another)).toMatchObject({ code: 'CONFLICT', status: 409 })
  const malformed = client.chat.text({ sessionId, message: 'Hello' }, { idempotencyKey: 'with a space' })
  expect(await rejection(malformed)).toMatchObject({ code: 'INVALID_ARGUMENT' })
  expect((await client.sessions.messages({ sessionId })).total).toBe(2)
  expect((await client.transactions.list({ type: 'chat_charge' })).total).toBe(1)
  await service.stop()
})
