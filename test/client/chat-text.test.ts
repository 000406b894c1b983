import { expect, test } from 'vitest'
import {
  delta,
  done,
  failed,
  hello,
  reasoning,
  startChatStub,
  startStream,
  streamOf,
  toLine,
  toolCall,
  toolResult,
  usage,
} from './chat-answers.ts'
import { rejection } from './rejection.ts'

test('`text` collects text, reasoning, tool calls with outputs, usage and cost', async () => {
  const { client, stub } = await startChatStub(
    streamOf(
      reasoning('First '),
      delta('It '),
      toolCall('a', { q: 1 }),
      toolCall('b', { q: 2 }),
      { type: 'image', url: 'x' },
      toolResult('b', { hits: 2 }),
      toolResult('unknown', {}),
      reasoning('then.'),
      delta('is 👋.'),
      done,
    ),
  )
  expect(await client.chat.text(hello)).toEqual({
    text: 'It is 👋.',
    reasoning: 'First then.',
    toolCalls: [
      { id: 'a', name: 'search', arguments: { q: 1 } },
      { id: 'b', name: 'search', arguments: { q: 2 }, output: { hits: 2 } },
    ],
    usage,
    costUsd: '0.0123',
  })
  await stub.stop()
})

test('an empty reply has an empty text, no tool calls and no reasoning', async () => {
  const { client, stub } = await startChatStub(streamOf(done))
  expect(Object.entries(await client.chat.text(hello))).toEqual([
    ['text', ''],
    ['toolCalls', []],
    ['usage', usage],
    ['costUsd', '0.0123'],
  ])
  await stub.stop()
})

test('a failed reply is thrown with its code, message and cost', async () => {
  const { client, stub } = await startChatStub(streamOf(delta('Well'), failed), streamOf(delta('Well')))
  expect(await rejection(client.chat.text(hello))).toMatchObject({
    code: 'AGENT_ERROR',
    message: 'The agent failed.',
    status: undefined,
    costUsd: '0.0007',
    requestId: 'req_1',
  })
  expect(await rejection(client.chat.text(hello))).toMatchObject({ code: 'NETWORK_ERROR', costUsd: undefined })
  expect(stub.requests).toHaveLength(2)
  await stub.stop()
})

test("an abort rejects with its signal's reason and ends the request", async () => {
  const ended = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const { client, stub } = await startChatStub((response) => {
    response.once('close', () => ended.resolve())
    startStream(response).write(toLine(delta('a')), () => started.resolve())
  })
  const controller = new AbortController()
  const reply = client.chat.text(hello, { signal: controller.signal })
  await started.promise
  controller.abort('enough')
  await expect(reply).rejects.toBe('enough')
  await ended.promise
  await stub.stop()
})
