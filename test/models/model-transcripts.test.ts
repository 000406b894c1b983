import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { expectOneEnd, Talker, textOf } from '../chat/chat-checks.ts'
import { sendBytes, type Script } from '../support/model-provider.ts'
import { secretKey } from './model-agents.ts'
import { expectFailedChat, onlyCharge, startModels } from './model-checks.ts'

// Streams in the format of real providers, read with the AI SDK's package for each; see transcripts/README.md.

const read = (name: string) => readFileSync(new URL(`./transcripts/${name}.sse`, import.meta.url))

/** Sends the transcript in chunks of this many bytes, which may split characters and events. */
function play(name: string, chunkBytes = 37): Script {
  const bytes = read(name)
  const count = Math.ceil(bytes.length / chunkBytes)
  return sendBytes(Array.from({ length: count }, (_, n) => bytes.subarray(n * chunkBytes, (n + 1) * chunkBytes)))
}

const weather = { location: 'Lisbon, Portugal', unit: 'celsius' }

test('OpenAI chat completions: a tool call, its result and the answer, with the usage of both', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'openai' })
  world.provider.play(play('openai-tool-call'), play('openai-answer'))
  const events = await talker.chat('What is the weather in Lisbon?', { maxTokens: 300 })
  expect(events[0].toolCall).toEqual({ id: 'call_Qw3ErT5yUiOp7AsDfGhJ9kLz', name: 'get_weather', arguments: weather })
  expect(events[1].toolResult).toEqual({
    id: 'call_Qw3ErT5yUiOp7AsDfGhJ9kLz',
    output: { location: 'Lisbon, Portugal', temperature: 18 },
  })
  expect(textOf(events)).toBe('In Lisbon it is 18 °C.')
  expect(expectOneEnd(events, 'done').usage).toEqual({
    promptTokens: 148 + 259,
    cachedPromptTokens: 128,
    completionTokens: 87 + 14,
    totalTokens: 235 + 273,
    reasoningTokens: 64,
    toolCalls: 1,
  })
  await onlyCharge(talker)
  const [first] = world.provider.requests
  expect(first).toMatchObject({ path: '/v1/chat/completions', headers: { authorization: `Bearer ${secretKey}` } })
  expect(first!.body).toMatchObject({ model: 'gpt-5-mini', max_completion_tokens: 300 })
  await world.stop()
})

test('Anthropic messages: thinking, text, a tool call and the answer, with cached prompt tokens', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'claude' })
  world.provider.play(play('anthropic-tool-use'), play('anthropic-answer'))
  const events = await talker.chat('What is the weather in Lisbon?')
  expect(textOf(events, 'reasoning_delta')).toBe('The user wants the weather in Lisbon, so I call the tool.')
  const call = events.find(({ type }) => type === 'tool_call')
  expect(call.toolCall).toEqual({ id: 'toolu_01Ab9CdEf8GhIj7KlMn6OpQr', name: 'get_weather', arguments: weather })
  expect(textOf(events)).toBe('I will look:In Lisbon it is 18 °C.')
  expect(expectOneEnd(events, 'done').usage).toMatchObject({
    promptTokens: 412 + 31 + 480,
    cachedPromptTokens: 480,
    completionTokens: 94 + 12,
    toolCalls: 1,
  })
  await onlyCharge(talker)
  const [first, second] = world.provider.requests
  expect(first).toMatchObject({ path: '/v1/messages', headers: { 'x-api-key': secretKey } })
  expect(second!.body.messages.at(-1)).toMatchObject({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: 'toolu_01Ab9CdEf8GhIj7KlMn6OpQr' }],
  })
  await world.stop()
})

test('an Anthropic error event and a stream that ends early each fail the chat', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'claude' })
  const whole = read('anthropic-answer').toString()
  const half = whole.slice(0, whole.indexOf('event: message_delta'))
  const error = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
  world.provider.play(sendBytes([half, `event: error\ndata: ${JSON.stringify(error)}\n\n`]))
  await expectFailedChat(talker, /^The model provider (?:responded with \d+|failed): Overloaded\.$/)
  world.provider.play(sendBytes([half]))
  await expectFailedChat(talker, /was cut off|ended/)
  await world.stop()
})
