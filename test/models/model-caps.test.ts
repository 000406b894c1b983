import { expect, test } from 'vitest'
import { expectOneEnd, Talker, textOf, unitsOf } from '../chat/chat-checks.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { reply, type Script } from '../support/model-provider.ts'
import { maxOutputTokens } from './model-agents.ts'
import { onlyCharge, startModels } from './model-checks.ts'
import { ofTier } from '../run/tiers.ts'

const modes = ofTier([{ inThreads: true }], [{ inThreads: false }, { inThreads: true }])

/** Writes the maximum, one token per byte. */
const longest: Script = (response, request) => {
  const text = '7'.repeat(request.body.max_tokens)
  return reply({ text: [text], finish: 'length', usage: { prompt_tokens: 12, completion_tokens: text.length } })(
    response,
    request,
  )
}

function chat(talker: Talker, more: object): Promise<ChatReader> {
  const body = { sessionId: talker.sessionId, message: 'Digits.', ...more }
  return ChatReader.open({ url: talker.service.url, key: talker.key, body })
}

test.for(modes)(
  'a chat ends exactly at its cap, because the model gets an output limit (threads: $inThreads)',
  async ({ inThreads }) => {
    const world = await startModels({ inThreads })
    world.provider.play(longest)
    // A token costs 0.0001 USD, and a prompt nothing.
    const talker = await Talker.create(world.service, { agentId: 'even' })
    const events = await (await chat(talker, { maxCostUsd: '0.0123' })).all()
    expect(world.provider.bodies).toMatchObject([{ max_tokens: 123 }])
    const end = expectOneEnd(events, 'error')
    expect(end).toMatchObject({ error: { code: 'BUDGET_REACHED' }, costUsd: '0.0123' })
    expect(textOf(events)).toHaveLength(123)
    expect(await onlyCharge(talker)).toMatchObject({ amountUsd: '-0.0123' })
    expect((await talker.messages())[1]).toMatchObject({ content: '7'.repeat(123), truncated: true })
    // A cap does not shorten replies that it covers.
    const whole = await (await chat(talker, { maxCostUsd: '0.0500' })).all()
    expect(expectOneEnd(whole, 'done').costUsd).toBe('0.0500')
    expect(world.provider.bodies.at(-1)).toMatchObject({ max_tokens: maxOutputTokens })
    await world.stop()
  },
)

test('a chat with expensive tokens ends less than one token below its cap', async () => {
  const world = await startModels()
  world.provider.play(longest)
  // Seven ten-thousandths per token.
  const talker = await Talker.create(world.service, { agentId: 'odd' })
  const end = expectOneEnd(await (await chat(talker, { maxCostUsd: '0.1000' })).all(), 'error')
  expect(end).toMatchObject({ error: { code: 'BUDGET_REACHED' }, costUsd: '0.0994' })
  await world.stop()
})

test('a reply is not cut if its cap is below the maximum cost of a model call that requests a tool', async () => {
  const world = await startModels()
  const call = { id: 'call_a', name: 'weather', args: '{"city":"Rome"}' }
  world.provider.play(reply({ calls: [call] }), reply({ text: ['Warm.'] }))
  const talker = await Talker.create(world.service, { agentId: 'model' })
  const events = await (await chat(talker, { maxCostUsd: '0.5000' })).all()
  expect(expectOneEnd(events, 'done')).toMatchObject({ finishReason: 'stop', usage: { toolCalls: 1 } })
  expect(textOf(events)).toBe('Warm.')
  expect(world.provider.bodies[0].max_tokens).toBeLessThan(maxOutputTokens)
  await world.stop()
})

test('the chats of a session use up its cap until less than one model step remains', async () => {
  const world = await startModels()
  world.provider.play(longest)
  const talker = await Talker.create(world.service, { agentId: 'odd' })
  const path = `/api/sessions/${talker.sessionId}`
  await world.service.request('PATCH', path, { key: talker.key, body: { maxCostUsd: '0.8000' } })
  const codes: string[] = []
  for (let status = 200; status === 200;) {
    const reader = await chat(talker, {})
    const end = await reader.end()
    codes.push(end.error?.code ?? end.type)
    ;({ status } = reader)
  }
  expect(codes).toEqual(['done', 'done', 'BUDGET_REACHED', 'BUDGET_REACHED'])
  expect(world.provider.requests).toHaveLength(3)
  const { spentUsd } = await talker.session()
  expect(unitsOf(spentUsd)).toBeLessThanOrEqual(8000)
  expect(unitsOf(spentUsd)).toBeGreaterThan(8000 - 7)
  expect(await world.service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await world.stop()
})

test('usage reported at ten times the output is charged up to the cap; the rest is written off', async () => {
  const world = await startModels()
  const usage = { prompt_tokens: 12, completion_tokens: 1000 }
  world.provider.play(reply({ text: ['7'.repeat(100)], usage }))
  const talker = await Talker.create(world.service, { agentId: 'even' })
  const end = expectOneEnd(await (await chat(talker, { maxCostUsd: '0.0600' })).all(), 'done')
  expect(end.costUsd).toBe('0.0600')
  const [charge] = await talker.charges()
  expect(charge).toMatchObject({ amountUsd: '-0.0600', breakdown: { completionTokens: 1000, writtenOffUsd: '0.0400' } })
  await world.stop()
})

test('a quote for a model without tools states the worst case, which its chat never exceeds', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'even' })
  const quote = async (more: object) => {
    const asked = { sessionId: talker.sessionId, message: 'Digits.', ...more }
    return (await world.service.post('/api/quotes', { chat: asked }, { key: talker.key })).body
  }
  expect(await quote({ maxCostUsd: '0.0100' })).toMatchObject({ holdUsd: '0.0100', worstCaseUsd: '0.0100' })
  expect(await quote({ params: { maxTokens: 50 } })).toMatchObject({ holdUsd: '0.0050', worstCaseUsd: '0.0050' })
  const { holdUsd, quoteId, worstCaseUsd } = await quote({})
  expect([holdUsd, worstCaseUsd]).toEqual(['0.0500', '0.0500'])
  world.provider.play(reply({ text: ['7'], usage: { prompt_tokens: 12, completion_tokens: 100_000 } }))
  const end = expectOneEnd(await (await chat(talker, { quoteId })).all(), 'done')
  expect(end.costUsd).toBe(worstCaseUsd)
  // A model with tools may be called again.
  const other = await Talker.create(world.service, { agentId: 'model', person: talker.person })
  const asked = { sessionId: other.sessionId, message: 'Digits.' }
  const open = await world.service.post('/api/quotes', { chat: asked }, { key: talker.key })
  expect(open.body).not.toHaveProperty('worstCaseUsd')
  const post = (path: string, body: object) => world.service.post(path, body, { key: talker.key })
  const first = { agentId: 'even', message: 'Digits.' }
  expect((await post('/api/quotes', { chat: first })).body).toMatchObject({ holdUsd, worstCaseUsd })
  const { body: connector } = await post('/api/connectors', { name: 'Docs', url: 'https://mcp.example.com/' })
  const connected = await post('/api/quotes', { chat: { ...first, connectorIds: [connector.id] } })
  expect(connected.body).toMatchObject({ holdUsd })
  expect(connected.body).not.toHaveProperty('worstCaseUsd')
  await world.stop()
})
