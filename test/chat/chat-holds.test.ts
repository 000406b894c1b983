import { expect, test } from 'vitest'
import { say } from '../support/chat-agents.ts'
import { maxOutputTokens } from '../models/model-agents.ts'
import { startModels } from '../models/model-checks.ts'
import { hang, reply } from '../support/model-provider.ts'
import { expectOneEnd, priceOf, soon, startTalk, Talker, textOf, unitsOf } from './chat-checks.ts'

/** Maximum tokens that providers add to a request with four tools, an instruction and a message. */
const aroundMax = 1000

test('while another chat holds the balance, a chat gets 403 with Retry-After and writes nothing', async () => {
  const service = await startTalk({ limits: { executionsPerMinute: 10 } })
  const first = await Talker.create(service, { balanceUsd: '0.5000' })
  const holder = await first.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  await holder.until('assistant_delta')
  const { heldUsd } = await first.account()
  const second = await first.another()
  const before = await second.state()
  const refused = await second.open('Hello')
  expect([refused.status, refused.headers['retry-after']]).toEqual([403, '5'])
  expect((await refused.end()).error).toEqual({
    code: 'INSUFFICIENT_BALANCE',
    message: `Turns in progress hold ${heldUsd} USD of the balance of 0.5000 USD, and the rest does not cover this request. Retry when they have ended.`,
  })
  expect(await second.state()).toEqual(before)
  holder.leave()
  await first.settled()
  expectOneEnd(await second.chat('Hello'), 'done')
  // The rejected chat used no slot.
  expect((await service.get('/api/account', first.key)).headers.get('x-ratelimit-remaining')).toBe('8')
  await service.stop()
})

test('a chat starts beside another only if the free balance covers its whole hold', async () => {
  const service = await startTalk()
  const first = await Talker.create(service, { balanceUsd: '100.0000' })
  const message = say({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  const holder = await first.open(message)
  await holder.until('assistant_delta')
  const held = unitsOf((await first.account()).heldUsd)
  const { userId } = first.person
  const setFree = async (free: number) => {
    const amount = held + free - unitsOf((await first.account()).balanceUsd)
    await service.app.store.credit({ userId, amount, description: 'Test', idempotencyKey: null })
  }
  const second = await first.another()
  await setFree(held - 1)
  expect((await second.open(message)).status).toBe(403)
  await setFree(held)
  const beside = await second.open(message)
  expect(beside.status, beside.text).toBe(200)
  for (const reader of [holder, beside]) reader.leave()
  await first.settled()
  await service.stop()
})

test('a reply that needs more than other chats leave free ends with INSUFFICIENT_BALANCE', async () => {
  const service = await startTalk()
  const first = await Talker.create(service, { balanceUsd: '2.8000' })
  const holder = await first.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  await holder.until('assistant_delta')
  const second = await first.another()
  const reader = await second.do({ do: 'flood', times: 2000, delta: 'sixteen letters ', everyMs: 1 })
  const events = await reader.all()
  expect(expectOneEnd(events, 'error').error.code).toBe('INSUFFICIENT_BALANCE')
  expect((await second.messages())[1]).toMatchObject({ content: textOf(events), truncated: true })
  holder.leave()
  await first.settled()
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})

test('a model call holds at most its prompt and longest output; an aborted call costs less', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(hang)
  const holder = await talker.open('Hello')
  await expect.poll(() => world.provider.requests.length, soon).toBe(1)
  const { heldUsd } = await talker.account()
  const sentBytes = Buffer.byteLength(JSON.stringify(world.provider.bodies[0]))
  holder.leave()
  await talker.settled()
  const [left] = await talker.charges()
  const { rates } = left.breakdown
  const costOf = (promptTokens: number, completionTokens: number) =>
    priceOf({
      promptTokens,
      completionTokens,
      cachedPromptTokens: 0,
      reasoningTokens: completionTokens,
      toolCalls: 0,
      rates,
    })
  // Each request byte counts as a token, plus the provider's framing, and all text is reasoning.
  expect(unitsOf(heldUsd)).toBeLessThanOrEqual(costOf(sentBytes + aroundMax, maxOutputTokens))
  expect(unitsOf(heldUsd)).toBeGreaterThan(costOf(0, maxOutputTokens))

  const whole = await talker.another('model')
  world.provider.play(reply({ text: ['Hello. '.repeat(100)], usage: null }))
  expectOneEnd(await whole.chat('Hello'), 'done')
  const [answered] = await whole.charges()
  expect(left.breakdown.promptTokens).toBe(answered.breakdown.promptTokens)
  expect(-unitsOf(left.amountUsd)).toBeGreaterThan(0)
  expect(-unitsOf(left.amountUsd)).toBeLessThan(-unitsOf(answered.amountUsd))
  expect(-unitsOf(answered.amountUsd)).toBeLessThanOrEqual(unitsOf(heldUsd))
  expect(await talker.account()).toMatchObject({ heldUsd: '0.0000' })
  await world.stop()
})
