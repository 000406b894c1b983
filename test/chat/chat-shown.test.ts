import { expect, test } from 'vitest'
import { countTokens } from '../../server/agents/run/count-tokens.ts'
import { say, type Step } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { expectOneEnd, priceOf, soon, startTalk, Talker, textOf, unitsOf } from './chat-checks.ts'
import { ofTier } from '../run/tiers.ts'

// All charged and stored text is shown, and a cap ends a reply with its own code. For the agent `talk` 1,000 prompt
// tokens cost 0.150005 USD, and text tokens 0.6 USD.

const modes = ofTier([{ isInline: false }], [{ isInline: true }, { isInline: false }])
const words = Array.from({ length: 44 }, (_, n) => `word-${n} `)
const spoken: Step[] = words.map((delta) => ({ do: 'text', delta }))

function open(talker: Talker, steps: Step[], maxCostUsd: string): Promise<ChatReader> {
  const body = { sessionId: talker.sessionId, message: say(...steps), maxCostUsd }
  return ChatReader.open({ url: talker.service.url, key: talker.key, body })
}

test.for(modes)(
  'a reply with usage reported beyond its hold shows exactly what is charged and stored (inline: $isInline)',
  async ({ isInline }) => {
    const service = await startTalk({ isInline })
    const talker = await Talker.create(service, { balanceUsd: '2.0000' })
    const other = await talker.another()
    const steps: Step[] = [...spoken, { do: 'usage', promptTokens: 10, completionTokens: 9000 }]
    const reader = await talker.do(...steps)
    const events = await reader.all()
    const end = events.at(-1)
    const [, stored] = await talker.messages()
    expect(stored.content).toBe(words.join(''))
    expect(textOf(events)).toBe(stored.content)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1))
    expect(end.costUsd).toBe('2.0000')
    // Rereading the turn yields the same text.
    const [{ turnId }] = await talker.charges()
    const path = `/api/chat/${turnId}/events`
    const again = await ChatReader.open({ url: service.url, key: talker.key, path })
    expect(await again.all()).toEqual(events)
    expect((await other.open('Hello')).status).toBe(403)
    await service.stop()
  },
)

test.for(modes)(
  'a reply ended by a cap reports the cap, even if its agent throws (inline: $isInline)',
  async ({ isInline }) => {
    const service = await startTalk({ isInline })
    const talker = await Talker.create(service)
    const flood: Step = { do: 'flood', times: 500, delta: 'sixteen letters ' }
    const events = await (await open(talker, [flood, { do: 'throw', message: 'It broke.' }], '0.1000')).all()
    const end = expectOneEnd(events, 'error')
    expect(end.error.code).toBe('BUDGET_REACHED')
    expect(unitsOf(end.costUsd)).toBeGreaterThan(1000 - 13)
    expect(unitsOf(end.costUsd)).toBeLessThanOrEqual(1000)
    expect((await talker.messages())[1]).toMatchObject({ content: textOf(events), truncated: true })
    await service.stop()
  },
)

test.for(modes)(
  'rejects a cap below the cost of the first letter, and sends it if the cap covers it (inline: $isInline)',
  async ({ isInline }) => {
    const service = await startTalk({ isInline })
    const talker = await Talker.create(service)
    const steps: Step[] = [{ do: 'text', delta: 'x' }]
    const prompt = await countTokens([say(...steps)])
    const needed = Math.ceil(prompt * 1.50005 + 6)
    const usd = (units: number) => (units / 10_000).toFixed(4)
    const before = await talker.state()
    const refusal = `At least ${usd(needed)} USD is required, but maxCostUsd leaves only ${usd(needed - 1)} USD. Raise maxCostUsd.`
    // A thread that is still loading the encoding counts too late, and the service then takes a higher bound.
    await expect
      .poll(async () => {
        const refused = await open(talker, steps, usd(needed - 1))
        return [refused.status, (await refused.end()).error]
      }, soon)
      .toEqual([403, { code: 'BUDGET_REACHED', message: refusal }])
    expect(await talker.state()).toEqual(before)
    const events = await (await open(talker, steps, usd(needed))).all()
    expectOneEnd(events, 'done')
    expect(textOf(events)).toBe('x')
    const [{ amountUsd, breakdown }] = await talker.charges()
    expect(breakdown).toMatchObject({ promptTokens: prompt, completionTokens: 1 })
    expect(-unitsOf(amountUsd)).toBe(priceOf(breakdown))
    await service.stop()
  },
)

test('a reply whose first words exceed the cap is free and not stored', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const before = await talker.state()
  const events = await (await open(talker, [{ do: 'text', delta: 'sixteen letters '.repeat(500) }], '0.5000')).all()
  expect(expectOneEnd(events, 'error')).toMatchObject({ error: { code: 'BUDGET_REACHED' }, costUsd: '0.0000' })
  expect(await talker.state()).toMatchObject({ ...before, updatedAt: expect.any(String) })
  await service.stop()
})

test.for(modes)(
  "chats without reported usage use up their session's cap and never exceed it (inline: $isInline)",
  async ({ isInline }) => {
    const service = await startTalk({ isInline })
    const talker = await Talker.create(service, { balanceUsd: '10.0000' })
    const path = `/api/sessions/${talker.sessionId}`
    await service.request('PATCH', path, { key: talker.key, body: { maxCostUsd: '1.0000' } })
    let status = 200
    let dearest = 0
    for (let chats = 0; status === 200 && chats < 50; chats++) {
      const reader = await talker.do({
        do: 'text',
        delta: 'twelve words of a reply that is neither long nor short, at all ',
      })
      const end = await reader.end()
      ;({ status } = reader)
      dearest = Math.max(dearest, unitsOf(end.costUsd ?? '0.0000'))
    }
    await expect.poll(async () => (await talker.account()).heldUsd, soon).toBe('0.0000')
    const spent = unitsOf((await talker.session()).spentUsd)
    expect(spent).toBeLessThanOrEqual(10_000)
    expect(spent).toBeGreaterThan(10_000 - 2 * dearest)
    await service.stop()
  },
)
