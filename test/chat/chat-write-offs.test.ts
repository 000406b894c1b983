import { expect, test } from 'vitest'
import { say } from '../support/chat-agents.ts'
import { expectOneEnd, startTalk, Talker } from './chat-checks.ts'

test('a user whose chat write-offs exceed the bound gets 403 until the next day', async () => {
  const service = await startTalk({ limits: { maxWrittenOffUsdPerDay: 5 } })
  const talker = await Talker.create(service, { balanceUsd: '0.5000' })
  // Two reports cost 6 USD; the balance is 0.5.
  const used = { do: 'usage', promptTokens: 0, completionTokens: 10_000 } as const
  const reader = await talker.do({ do: 'text', delta: 'Hi' }, used)
  expect((await reader.end()).error.code).toBe('INSUFFICIENT_BALANCE')
  await talker.settled()
  expect(await talker.charges()).toMatchObject([{ breakdown: { writtenOffUsd: '5.5000' } }])
  const { userId } = talker.person
  await service.app.store.credit({ userId, amount: 100_000, description: 'Top-up', idempotencyKey: null })
  const before = await talker.state()
  for (const one of [talker, await talker.another()]) {
    const refused = await one.open('Hello')
    const { error } = await refused.end()
    expect([refused.status, error.code]).toEqual([403, 'ACCOUNT_BLOCKED'])
    expect(error.message).toMatch(/written off today\. Send the message again after .+T00:00:00\.000Z\.$/)
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  }
  expect(await talker.state()).toEqual(before)
  const stranger = await Talker.create(service)
  expectOneEnd(await stranger.chat(say({ do: 'text', delta: 'Hi' })), 'done')
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})
