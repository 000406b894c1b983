import { expect, test } from 'vitest'
import { isContextOverflow } from '../../server/agents/model/model-error.ts'
import { expectOneEnd, priceOf, Talker, unitsOf } from '../chat/chat-checks.ts'
import { refuse, reply, replyThen, sendLast } from '../support/model-provider.ts'
import { expectFailedChat, expectSentence, expectSound, startModels } from './model-checks.ts'

const tooLong = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
const overflow = refuse(400, tooLong, { type: 'invalid_request_error' })
const look = { text: ['I look. '], calls: [{ id: 'a', name: 'weather', args: '{"city":"Bern"}' }] }

test.for([
  ['context overflow', overflow],
  [
    'context overflow, indicated only by its code',
    refuse(400, 'Please reduce the length of the messages.', { type: 'context_length_exceeded' }),
  ],
  ['unreadable content', refuse(400, 'An image cannot be read.')],
  [
    'context overflow reported in the stream',
    replyThen({ text: ['No'] }, sendLast({ error: { message: tooLong, code: 400 } })),
  ],
] as const)('a chat whose request is rejected by its model pays only for earlier steps: %s', async ([, script]) => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  const { key } = talker.person
  world.provider.play(reply(look), script)
  const end = expectOneEnd(await talker.chat('Hello'), 'error')
  expect(end.error).toMatchObject({
    code: 'AGENT_ERROR',
    message: expect.stringMatching(/maximum context length|reduce the length|image/),
  })
  expectSentence(end.error.message)
  const { transactions } = (await world.service.get('/api/transactions?type=chat_charge', key)).body
  expect(transactions).toHaveLength(1)
  const [{ amountUsd, breakdown, description }] = transactions
  expect(description).toBe('Chat with model, failed')
  expect(amountUsd).toBe(`-${end.costUsd}`)
  expect(breakdown).toMatchObject({ promptTokens: 100, completionTokens: 20, toolCalls: 1, isEstimated: false })
  expect(unitsOf(end.costUsd)).toBe(priceOf(breakdown))
  expect((await world.service.get(`/api/sessions/${talker.sessionId}`, key)).body).toMatchObject({ messageCount: 0 })
  expect((await world.service.get('/api/account', key)).body.heldUsd).toBe('0.0000')
  await expectSound(world, talker)
  await world.stop()
})

test('a chat whose first request is too long for its model costs nothing', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(overflow)
  await expectFailedChat(talker, /maximum context length/)
  await expectSound(world, talker)
  await world.stop()
})

const apiError = (statusCode: number, message: string, responseBody = '') =>
  Object.assign(new Error(message), { name: 'AI_APICallError', statusCode, responseBody })

test.for([
  ['OpenAI', apiError(400, 'Bad Request', '{"error":{"message":"…","code":"context_length_exceeded"}}'), true],
  ['Anthropic', apiError(400, 'prompt is too long: 208310 tokens > 200000 maximum'), true],
  ['Google', apiError(400, 'The input token count (1048577) exceeds the maximum number of tokens allowed'), true],
  ['vLLM', apiError(400, "This model's maximum context length is 4096 tokens."), true],
  ['llama.cpp', apiError(400, '{"error":{"type":"exceed_context_size_error"}}'), true],
  [
    'the last of several tries',
    Object.assign(new Error('x'), { lastError: apiError(413, 'Prompt is too long') }),
    true,
  ],
  ['another rejection', apiError(400, 'temperature is out of range'), false],
  ['an overload that mentions tokens', apiError(429, 'Too many tokens per minute'), false],
  ['a server error that mentions the context', apiError(500, 'context length unknown'), false],
  ['no error at all', undefined, false],
] as const)('detects whether a request was too long: %s', ([, thrown, expected]) => {
  expect(isContextOverflow(thrown)).toBe(expected)
})
