import { createOpenAI } from '@ai-sdk/openai'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readMetrics } from '../api/exposition.ts'
import { expectOneEnd, Talker } from '../chat/chat-checks.ts'
import { sendBytes } from '../support/model-provider.ts'
import { startService } from '../support/test-service.ts'
import { onlyCharge, startModels } from './model-checks.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {}, fatal() {} }
const answer = readFileSync(new URL('./transcripts/anthropic-answer.sse', import.meta.url), 'utf8')

/** Returns a response in Anthropic's format, with these prompt tokens. */
function answerWith(usage: object): string {
  return answer.replace(/"usage": \{"input_tokens".*?"service_tier": "standard"\}/, `"usage": ${JSON.stringify(usage)}`)
}

const mark = { type: 'ephemeral', ttl: '1h' }

test('caching marks instructions and prompt for Anthropic, and cache writes cost their own rate', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'cached', balanceUsd: '100.0000' })
  const written = {
    input_tokens: 31,
    cache_creation_input_tokens: 480,
    cache_read_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 80, ephemeral_1h_input_tokens: 400 },
    output_tokens: 1,
  }
  world.provider.play(sendBytes([answerWith(written)]))
  const { usage } = expectOneEnd(await talker.chat('Hello'), 'done')
  expect(usage).toMatchObject({ promptTokens: 511, cacheWriteTokens: 480, completionTokens: 12 })
  const { amountUsd, breakdown } = (await talker.charges())[0]
  expect(breakdown).toMatchObject({ cacheWriteTokens: 480, cacheWrite1hTokens: 400, isEstimated: false })
  // 31 at 0.001, 80 at 0.00125, 400 at 0.002 and 12 at 0.005 USD.
  expect(amountUsd).toBe('-0.9910')
  const [body] = world.provider.bodies
  expect(body.system).toEqual([expect.objectContaining({ type: 'text', cache_control: mark })])
  expect(body.messages).toEqual([
    { role: 'user', content: [expect.objectContaining({ type: 'text', text: 'Hello', cache_control: mark })] },
  ])
  expect(body.metadata).toEqual({ user_id: 'house' })
  await world.stop()
})

test('a reply that reads the cache pays the rate of cache reads', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'cached', balanceUsd: '100.0000' })
  world.provider.play(sendBytes([answer]))
  const { usage } = expectOneEnd(await talker.chat('Hello'), 'done')
  expect(usage).toMatchObject({ promptTokens: 511, cachedPromptTokens: 480 })
  expect(usage).not.toHaveProperty('cacheWriteTokens')
  // 31 at 0.001, 480 at 0.0001 and 12 at 0.005 USD.
  expect((await talker.charges())[0].amountUsd).toBe('-0.1390')
  const sums = async () => {
    const metrics = await readMetrics(world.service)
    return ['charged', 'provider_cost'].map((name) => metrics.get(`errand_chat_${name}_usd_total{agent="cached"}`))
  }
  expect(await sums()).toEqual([0.139, 0.0695])
  // The provider charges nothing for a reply that breaks off before its usage.
  world.provider.play(sendBytes([answer.slice(0, answer.indexOf('event: message_delta'))]))
  expectOneEnd(await talker.chat('Again'), 'error')
  expect(await sums()).toEqual([0.139, 0.0695])
  await onlyCharge(talker)
  await world.stop()
})

test('a price below its cost is logged at the start, with its margin', async () => {
  const lines: unknown[] = []
  const cost = { inputPerMillionUsd: '3', outputPerMillionUsd: '15' }
  const pricing = { ...cost, outputPerMillionUsd: '12' }
  const model = (id: string) => createOpenAI({ apiKey: 'key' }).chat(id)
  const draft = { description: 'Writes.', params: {}, prompt: () => 'Write.' }
  const service = await startService({
    config: {
      agents: [
        { kind: 'code', id: 'cheap', name: 'Cheap', chat: { pricing, cost, async *reply() {} } },
        {
          kind: 'model',
          id: 'writer',
          name: 'Writer',
          model: model('first'),
          cost,
          fallbacks: [{ model: model('second'), pricing: cost }],
          endpoints: { draft: { ...draft, pricing: { tokens: pricing, maxUsd: '1' } } },
        },
      ],
    },
    log: { ...silent, warn: (fields: object, text: string) => lines.push([text, fields]) },
  })
  const losses = [
    { what: 'output tokens', marginPercent: -25 },
    { what: 'reasoning tokens', marginPercent: -25 },
  ]
  expect(lines).toEqual([
    ['the chat rates of an agent are below its cost', { agentId: 'cheap', losses }],
    ['the token rates of an endpoint are below its cost', { endpointId: 'writer.draft', model: 'first', losses }],
  ])
  await service.stop()
})
