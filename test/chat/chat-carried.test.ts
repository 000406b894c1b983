import { expect, test } from 'vitest'
import { startService } from '../support/test-service.ts'
import { expectOneEnd, Talker } from './chat-checks.ts'

/** A chat with these prices costs 0.00004 USD. */
const cheap = {
  kind: 'code',
  id: 'cheap',
  name: 'Cheap',
  chat: {
    pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0.04' },
    async *reply() {
      yield { type: 'text' as const, delta: 'Hi' }
      yield { type: 'usage' as const, promptTokens: 1, completionTokens: 1 }
    },
  },
} as const

test('chats cheaper than half a unit are not free: 25 chats of 0.00004 USD across sessions cost 0.0010 USD', async () => {
  const service = await startService({ config: { agents: [cheap] }, limits: { executionsPerMinute: 0 } })
  const first = await Talker.create(service, { agentId: 'cheap', balanceUsd: '1.0000' })
  const talkers = [first, await first.another('cheap')]
  const costs: string[] = []
  for (let n = 0; n < 25; n++) {
    const { costUsd } = expectOneEnd(await talkers[n % 2]!.chat('Hello'), 'done')
    costs.push(costUsd)
  }
  const charges = (await Promise.all(talkers.map((talker) => talker.charges()))).flat()
  expect(charges.map(({ amountUsd }) => amountUsd.replace('-', '')).toSorted()).toEqual(costs.toSorted())
  expect(costs.filter((cost) => cost === '0.0001')).toHaveLength(10)
  expect(await first.account()).toEqual({ balanceUsd: '0.9990', heldUsd: '0.0000' })
  const receipt = { exactUsd: '0.000040000', carriedBeforeUsd: '0.000060000', carriedAfterUsd: '0.000000000' }
  expect((await first.charges())[0].breakdown).toMatchObject(receipt)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})
