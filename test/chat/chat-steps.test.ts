import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Step } from '../support/chat-agents.ts'
import { expectOneEnd, expectSound, filesIn, priceOf, startTalk, Talker, unitsOf } from './chat-checks.ts'
import { ofTier } from '../run/tiers.ts'

// Code agents that report their model calls.

const step = (promptTokens: number, outputTokensMax?: number): Step => ({
  do: 'raw',
  part: { type: 'step', promptTokens, ...(outputTokensMax !== undefined && { outputTokensMax }) },
})

test.for(ofTier([{ isInline: false }], [{ isInline: true }, { isInline: false }]))(
  'skips a model call that the balance does not cover, and charges earlier usage (inline: $isInline)',
  async ({ isInline }) => {
    const service = await startTalk({ isInline })
    const talker = await Talker.create(service, { balanceUsd: '1.0000' })
    const called = filesIn(service)('called')
    const usage: Step = { do: 'usage', promptTokens: 100, completionTokens: 10 }
    const reader = await talker.do(step(100), usage, step(7000), { do: 'touch', file: called })
    const end = expectOneEnd(await reader.all(), 'error')
    expect(end.error.code).toBe('INSUFFICIENT_BALANCE')
    expect(existsSync(called)).toBe(false)
    const [{ breakdown }] = await talker.charges()
    expect(breakdown).toMatchObject({ promptTokens: 100, completionTokens: 10 })
    expect(unitsOf(end.costUsd)).toBe(priceOf(breakdown))
    await expectSound(talker)
    await service.stop()
  },
)

test.for([
  ['of the call', 200, undefined],
  ['of the client', undefined, { maxTokens: 300 }],
  ['of the agent', undefined, undefined],
] as const)(
  'a client that leaves during a model call pays prompt and output so far, not the output limit %s',
  async (of) => {
    const [, own, params] = of
    const service = await startTalk()
    const talker = await Talker.create(service)
    const steps: Step[] = [
      step(50, own),
      { do: 'reasoning', delta: 'I think.' },
      { do: 'call', id: 'a', arguments: { city: 'Bern' } },
      { do: 'text', delta: 'A short reply' },
      { do: 'await-abort' },
    ]
    const reader = await talker.open(JSON.stringify(steps), { params })
    await reader.until('assistant_delta')
    reader.leave()
    await talker.settled()
    const [{ amountUsd, breakdown }] = await talker.charges()
    // Three reasoning tokens, five for arguments and three for text.
    expect(breakdown).toMatchObject({ promptTokens: 50, completionTokens: 11, reasoningTokens: 3, isEstimated: true })
    expect(-unitsOf(amountUsd)).toBe(priceOf(breakdown))
    await expectSound(talker)
    await service.stop()
  },
)

test('a reply whose first model call is rejected is free', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd: '1.0000' })
  const end = expectOneEnd(await (await talker.do(step(7000))).all(), 'error')
  expect(end).toMatchObject({ error: { code: 'INSUFFICIENT_BALANCE' }, costUsd: '0.0000' })
  expect(await talker.charges()).toEqual([])
  await expectSound(talker)
  await service.stop()
})

test('output longer than the model call allowed is charged up to the hold, without a write-off', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd: '1.5000' })
  // At 16 bytes per token, this text has at least 6,250 tokens, which cost 3.75 USD, or 5.63 USD as reasoning.
  const reader = await talker.do(
    step(50, 100),
    { do: 'text', delta: '7'.repeat(100), times: 1000 },
    { do: 'await-abort' },
  )
  const end = expectOneEnd(await reader.all(), 'error')
  expect(end.error.code).toBe('INSUFFICIENT_BALANCE')
  const [{ amountUsd, breakdown }] = await talker.charges()
  expect(breakdown).not.toHaveProperty('writtenOffUsd')
  expect(breakdown).toMatchObject({ promptTokens: 50, isEstimated: true })
  expect(breakdown.completionTokens).toBeGreaterThanOrEqual(100)
  expect(-unitsOf(amountUsd)).toBe(priceOf(breakdown))
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})

test('a large model prompt in one session does not raise the holds of other sessions', async () => {
  const service = await startTalk()
  const [first, other] = [await Talker.create(service), await Talker.create(service)]
  const second = await first.another()
  const heldFor = async (talker: Talker) => {
    const reader = await talker.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
    await reader.until('assistant_delta')
    const held = unitsOf((await talker.account()).heldUsd)
    reader.leave()
    await talker.settled()
    return held
  }
  const before = await heldFor(second)
  const usage: Step = { do: 'usage', promptTokens: 1, completionTokens: 1 }
  expectOneEnd(await (await first.do(step(7000, 10), usage)).all(), 'done')
  expect(await heldFor(second)).toBeLessThan(before + 100)
  expect(await heldFor(other)).toBeLessThan(before + 100)
  // Now holds for the 7,000 additional tokens, which cost 1.05 USD.
  expect(await heldFor(first)).toBeGreaterThan(before + 10_000)
  await service.stop()
})

test('a reply with an invalid step fails and is free', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  for (const promptTokens of [-1, 0.5, Infinity]) {
    const end = expectOneEnd(await (await talker.do(step(promptTokens))).all(), 'error')
    expect(end).toMatchObject({ error: { code: 'AGENT_ERROR' }, costUsd: '0.0000' })
  }
  await expectSound(talker)
  await service.stop()
})
