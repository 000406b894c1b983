import { expect, test } from 'vitest'
import type { ChatPart } from '../../server/agents/config/define-config.ts'
import { DeltaBypass } from '../../server/agents/threads/delta-bypass.ts'
import { PartQueue } from '../../server/agents/run/part-queue.ts'

const text = (delta: string) => ({ type: 'text-delta', id: 't', delta })
const start = { type: 'text-start', id: 't' }
const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: '{}' }

/** Returns the stream that the SDK reads instead of the model's, and the parts that bypassed the SDK. */
async function divert(parts: object[]) {
  const queue = new PartQueue<ChatPart>(() => {})
  const bypass = new DeltaBypass(queue, { onAnswer: () => {}, onUsage: () => {}, onWritten: () => {} })
  const model = new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
  const doStream = async () => ({ stream: model })
  const { stream } = await bypass.middleware.wrapStream!({ doStream } as never)
  return { queue, bypass, reader: (stream as ReadableStream).getReader() }
}

test('text waits for its step to start, is then emitted immediately, and reaches the SDK as one delta', async () => {
  const { queue, reader, bypass } = await divert([start, text('a'), text('b'), { type: 'text-end', id: 't' }])
  expect((await reader.read()).value).toEqual(start)
  const joined = reader.read()
  const first = queue.next()
  expect(await Promise.race([first, new Promise((resolve) => setImmediate(resolve, 'waits'))])).toBe('waits')
  bypass.began()
  expect([(await first).value, (await queue.next()).value]).toEqual([
    { type: 'text', delta: 'a' },
    { type: 'text', delta: 'b' },
  ])
  expect((await joined).value).toEqual(text('ab'))
  expect(bypass.untold('text-delta', 'ab')).toBe('')
})

test('text after a tool call follows the call through the SDK', async () => {
  const { queue, reader, bypass } = await divert([start, text('a'), call, text('b')])
  await reader.read()
  const joined = reader.read()
  bypass.began()
  expect((await queue.next()).value).toEqual({ type: 'text', delta: 'a' })
  expect((await joined).value).toEqual(text('a'))
  expect((await reader.read()).value).toEqual(call)
  expect((await reader.read()).value).toEqual(text('b'))
  expect(bypass.untold('text-delta', 'a')).toBe('')
  expect(bypass.untold('text-delta', 'b')).toBe('b')
  queue.end()
  expect(await queue.next()).toEqual({ done: true, value: undefined })
})

test('waiting text is emitted through the SDK if its step never starts', async () => {
  const { queue, reader, bypass } = await divert([start, text('a')])
  await reader.read()
  const through = reader.read()
  await new Promise(setImmediate)
  bypass.end()
  expect((await through).value).toEqual(text('a'))
  expect(bypass.untold('text-delta', 'a')).toBe('a')
  queue.end()
  expect(await queue.next()).toEqual({ done: true, value: undefined })
})
