import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readMetrics } from '../api/exposition.ts'
import { expectOneEnd, Talker } from '../chat/chat-checks.ts'
import { sendBytes } from '../support/model-provider.ts'
import { onlyCharge, startModels } from './model-checks.ts'

const answer = readFileSync(new URL('./transcripts/anthropic-answer.sse', import.meta.url), 'utf8')

/** Anthropic's answer, with these prompt tokens. */
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
  const metrics = await readMetrics(world.service)
  const sum = (name: string) => metrics.get(`${name}{agent="cached"}`)
  expect([sum('errand_chat_charged_usd_total'), sum('errand_chat_provider_cost_usd_total')]).toEqual([0.139, 0.0695])
  await onlyCharge(talker)
  await world.stop()
})
