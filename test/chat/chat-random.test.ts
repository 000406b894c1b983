import fc from 'fast-check'
import { expect, test } from 'vitest'
import { say, type Step } from '../support/chat-agents.ts'
import { expectSound, priceOf, startTalk, Talker, unitsOf } from './chat-checks.ts'

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('text' as const), delta: fc.string({ unit: 'grapheme' }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reasoning' as const), delta: fc.lorem() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('call' as const), id: fc.constantFrom('a', 'b', 'c') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('result' as const), id: fc.constantFrom('a', 'b', 'c') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('usage' as const),
      promptTokens: fc.nat(300),
      completionTokens: fc.nat(300),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('throw' as const), message: fc.constant('Broken.') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('flood' as const),
      times: fc.nat(300),
      delta: fc.constant('many words '),
    }),
  },
)

type Visit = { session: number; startMs: number; steps: Step[]; leaveMs: number | null; deletes: boolean }

const visit: fc.Arbitrary<Visit> = fc.record({
  session: fc.nat(7),
  startMs: fc.nat(300),
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  leaveMs: fc.option(fc.nat(60), { freq: 3 }),
  deletes: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Runs a chat as instructed by random values. Returns its last event if it was read to the end. */
async function visitOnce(talker: Talker, { deletes, leaveMs, startMs, steps }: Visit): Promise<any> {
  await pause(startMs)
  const reader = await talker.open(say(...steps))
  if (deletes) await talker.service.request('DELETE', `/api/sessions/${talker.sessionId}`, { key: talker.key })
  if (leaveMs === null) return await reader.end()
  await pause(leaveMs)
  reader.leave()
  return undefined
}

test('each turn settles once and the ledger adds up under random agent and client behavior', async () => {
  const service = await startTalk()
  await fc.assert(
    fc.asyncProperty(fc.array(visit, { minLength: 40, maxLength: 60 }), async (visits) => {
      const first = await Talker.create(service, { balanceUsd: '1.5000' })
      const talkers = [first, ...(await Promise.all(Array.from({ length: 7 }, () => first.another())))]
      const ends = await Promise.all(visits.map((one) => visitOnce(talkers[one.session]!, one)))
      await first.settled()
      for (const end of ends) if (end) expect(['done', 'error']).toContain(end.type)

      const { userId } = first.person
      const { transactions } = await service.app.store.listTransactions({ userId, limit: 100, offset: 0 })
      const charges = transactions.filter(({ type }) => type === 'chat_charge')
      expect(new Set(charges.map(({ turnId }) => turnId)).size).toBe(charges.length)
      for (const { amount, breakdown } of charges) {
        const writtenOff = breakdown!.writtenOffUsd ? unitsOf(breakdown!.writtenOffUsd) : 0
        expect(writtenOff - amount).toBe(priceOf(breakdown))
      }
      const spent = charges.reduce((sum, { amount }) => sum - amount, 0)
      expect(await first.account()).toEqual({
        balanceUsd: ((15_000 - spent) / 10_000).toFixed(4),
        heldUsd: '0.0000',
      })
      for (const talker of talkers) {
        const session = await talker.session()
        if (session.statusCode === 404) continue
        const messages = await talker.messages()
        expect(session.messageCount).toBe(messages.length)
        expect(messages.map(({ role }) => role)).toEqual(messages.map((_, n) => (n % 2 ? 'assistant' : 'user')))
        const turns = new Set(messages.map(({ turnId }) => turnId))
        expect(new Set((await talker.charges()).map(({ turnId }) => turnId))).toEqual(turns)
      }
      expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
    }),
    { numRuns: 5, endOnFailure: true },
  )
  await expectSound(await Talker.create(service))
  await service.stop()
}, 120_000)
