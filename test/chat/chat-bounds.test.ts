import type { ToolCallRecord } from '../../server/store/sessions/session-types.ts'
import { expect, test } from 'vitest'
import { batchBytesMax } from '../../server/procedures/batch.ts'
import { messageTextBytesMax, pageBytesMax, toolCallsBytesMax } from '../../server/store/byte-bounds.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import chatAgents, { talk } from '../support/chat-agents.ts'
import { withRaw } from '../support/test-engine.ts'
import { startTalk, Talker } from './chat-checks.ts'

const headBytes = 2000
const largeText = 'é'.repeat(200_000)

const config = defineConfig({
  agents: [
    ...chatAgents.agents,
    { ...talk, id: 'vast', chat: { ...talk.chat!, contextTokens: 10_000_000 } },
    {
      ...talk,
      id: 'large',
      chat: {
        ...talk.chat!,
        async *reply() {
          yield { type: 'tool-call', id: 'small', name: 'look', arguments: { q: 1 } }
          yield { type: 'tool-result', id: 'small', output: { found: true } }
          yield { type: 'tool-call', id: 'large', name: 'look', arguments: { text: largeText } }
          yield { type: 'tool-result', id: 'large', output: { text: largeText } }
        },
      },
    },
  ],
})

const startBounded = () => startTalk({ config, isInline: true })

let turns = 0

/** Stores an exchange as a settled turn does, without a model. */
async function store(
  talker: Talker,
  { message, reply, toolCalls = [] }: { message: string; reply: string; toolCalls?: ToolCallRecord[] },
): Promise<void> {
  const { person, service, sessionId } = talker
  const turnId = `turn_bounds_${++turns}`
  const of = { userId: person.userId, sessionId, turnId, idempotency: null, required: 1, hold: 1 }
  expect(await service.app.store.openTurn(of)).toMatchObject({ outcome: 'opened' })
  await service.app.store.settleTurn({
    turnId,
    outcome: 'finished',
    cost: 0,
    breakdown: nothingUsed,
    exchange: { message: { content: message, tokens: 1 }, reply: { content: reply, tokens: 1, toolCalls } },
  })
}

function pageOf(talker: Talker, offset: number, limit = 100): Promise<any> {
  const { key, service, sessionId } = talker
  return service.get(`/api/sessions/${sessionId}/messages?limit=${limit}&offset=${offset}`, key)
}

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

test('streams a large tool output in full, but stores only a preview in the message', async () => {
  const service = await startBounded()
  const talker = await Talker.create(service, { agentId: 'large' })
  const events = await talker.chat('look')
  const small = { id: 'small', name: 'look', arguments: { q: 1 }, output: { found: true } }
  const whole = { text: largeText }
  expect(events.filter(({ type }) => type === 'tool_result').map(({ toolResult }) => toolResult.output)).toEqual([
    small.output,
    whole,
  ])
  const { body } = await pageOf(talker, 1)
  const preview = { preview: expect.stringMatching(/^\{"text":"é{1000,1100}$/) }
  const bytes = bytesOf(whole)
  expect(body.messages[0].toolCalls).toEqual([
    small,
    { id: 'large', name: 'look', arguments: preview, argumentsBytes: bytes, output: preview, outputBytes: bytes },
  ])
  await service.stop()
})

test('limits a page of messages by bytes, and following pages reach the last message', async () => {
  const service = await startBounded()
  const talker = await Talker.create(service)
  for (let n = 0; n < 5; n++) await store(talker, { message: `${n}`, reply: `${n}${'x'.repeat(400_000)}` })
  const read: string[] = []
  const pages: number[] = []
  while (read.length < 10) {
    const { body } = await pageOf(talker, read.length)
    expect(body.total).toBe(10)
    expect(body.messages.length).toBeGreaterThan(0)
    expect(bytesOf(body)).toBeLessThan(pageBytesMax + headBytes)
    pages.push(body.messages.length)
    read.push(...body.messages.map(({ content }: { content: string }) => content.slice(0, 1)))
  }
  expect(read).toEqual(['0', '0', '1', '1', '2', '2', '3', '3', '4', '4'])
  expect(pages).toEqual([5, 4, 1])
  await service.stop()
})

test('truncates a long reply to its first megabyte of JSON and marks it truncated', async () => {
  const service = await startBounded()
  const talker = await Talker.create(service)
  for (const [index, reply] of ['x'.repeat(3_000_000), '\u0001'.repeat(300_000), '👩'.repeat(300_000)].entries()) {
    await store(talker, { message: 'go on', reply })
    const { body } = await pageOf(talker, index * 2 + 1, 1)
    const [{ content, truncated }] = body.messages
    expect(truncated).toBe(true)
    expect(reply.startsWith(content.slice(0, -2))).toBe(true)
    expect(content.isWellFormed()).toBe(true)
    expect(bytesOf(content)).toBeGreaterThan(messageTextBytesMax * 0.5)
    expect(bytesOf(content)).toBeLessThanOrEqual(messageTextBytesMax)
  }
  await service.stop()
})

test('stores as many of thousands of tool calls as fit, and the message stays readable', async () => {
  const service = await startBounded()
  const talker = await Talker.create(service)
  const toolCalls = Array.from({ length: 5000 }, (_, n) => ({
    id: `call${n}`,
    name: 'look',
    arguments: { q: 'x'.repeat(500) },
    output: { text: 'y'.repeat(500) },
  }))
  await store(talker, { message: 'look', reply: 'I did.', toolCalls })
  const { body } = await pageOf(talker, 1)
  const kept = body.messages[0].toolCalls
  expect(kept).toEqual(toolCalls.slice(0, kept.length))
  expect(bytesOf(kept)).toBeLessThanOrEqual(toolCallsBytesMax)
  expect(bytesOf(kept)).toBeGreaterThan(toolCallsBytesMax - 2000)
  await service.stop()
})

test('applies the bound on reading to a message stored before the bound existed', async () => {
  const service = await startBounded()
  const talker = await Talker.create(service)
  for (let n = 0; n < 2; n++) await store(talker, { message: 'look', reply: 'I did.' })
  await withRaw(service.dataDir, async (raw) => {
    const output = `{"text":"${'y'.repeat(2_000_000)}"}`
    const call = `{"id":"a","name":"look","arguments":{},"output":${output}}`
    await raw.query(`UPDATE messages SET tool_calls = '[${call},${call}]', content = '${'x'.repeat(2_000_000)}'`)
  })
  const { body } = await pageOf(talker, 0)
  expect(body.messages).toHaveLength(1)
  const [message] = body.messages
  expect(bytesOf(message)).toBeLessThan(messageTextBytesMax + toolCallsBytesMax)
  expect(message.truncated).toBe(true)
  expect(message.toolCalls[1]).toEqual({
    id: 'a',
    name: 'look',
    arguments: {},
    output: { preview: expect.stringMatching(/^\{"text":"y{1000,1100}$/) },
    outputBytes: 2_000_011,
  })
  await service.stop()
})

test('a batch of page reads shares one byte bound, and calls beyond it get an error that explains why', async () => {
  const service = await startBounded()
  const talker = await Talker.create(service)
  for (let n = 0; n < 8; n++) await store(talker, { message: `${n}`, reply: 'x'.repeat(10_000) })
  const input = JSON.stringify(Object.fromEntries(Array.from({ length: 20 }, (_, n) => [n, askFor(talker)])))
  const path = `/trpc/${Array(20).fill('sessions.messages').join(',')}?batch=1&input=${encodeURIComponent(input)}`
  const small = await service.get(path, talker.key)
  expect(small.status).toBe(200)
  expect(bytesOf(small.body)).toBeLessThan(pageBytesMax + 20 * headBytes)
  for (const { result } of small.body) expect(result.data.json).toMatchObject({ total: 16, offset: 0 })

  const other = await talker.another()
  await store(other, { message: 'x'.repeat(900_000), reply: '' })
  const large = await service.get(path.replaceAll(talker.sessionId, other.sessionId), talker.key)
  expect(large.status).toBe(207)
  expect(bytesOf(large.body)).toBeLessThan(batchBytesMax + 20 * headBytes)
  const refused = large.body.filter(({ error }: any) => error)
  expect(refused.length).toBeGreaterThan(5)
  expect(refused.length).toBeLessThan(20)
  expect(refused[0].error.json).toMatchObject({
    message: expect.stringMatching(/in a separate request/),
    data: { httpStatus: 413 },
  })
  await service.stop()
})

function askFor({ sessionId }: Talker) {
  return { json: { sessionId, limit: 100 } }
}

test('rejects a message too long to be stored, and names the field', async () => {
  const service = await startBounded()
  const talker = await Talker.create(service, { agentId: 'vast' })
  for (const message of ['x'.repeat(messageTextBytesMax), '\u0001'.repeat(180_000)]) {
    const answer = await service.post('/api/chat', { sessionId: talker.sessionId, message }, { key: talker.key })
    expect([answer.status, answer.body.details?.[0].path]).toEqual([400, 'message'])
  }
  await service.stop()
})
