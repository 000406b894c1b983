import { expect, test } from 'vitest'
import { readMetrics } from '../api/exposition.ts'
import { say, type Step } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { expectOneEnd, expectSound, priceOf, soon, startTalk, Talker, textOf, unitsOf } from './chat-checks.ts'
import { ofTier } from '../run/tiers.ts'

// Caps of chats and budgets of sessions. For the agent `talk` 1,000 prompt tokens cost 0.15 USD, and text tokens 0.6
// USD.

const flood: Step = { do: 'flood', times: 100_000, delta: 'sixteen letters ', everyMs: 1 }
/** Maximum cost of a flood delta, rounded up: two tokens. */
const deltaUnits = 13
const report: Step = { do: 'usage', promptTokens: 0, completionTokens: 1000 }

type More = { maxCostUsd?: string; quoteId?: string }

function open(talker: Talker, steps: Step[], more: More = {}): Promise<ChatReader> {
  const body = { sessionId: talker.sessionId, message: say(...steps), ...more }
  return ChatReader.open({ url: talker.service.url, key: talker.key, body })
}

async function patch(talker: Talker, maxCostUsd: string | null) {
  const path = `/api/sessions/${talker.sessionId}`
  return await talker.service.request('PATCH', path, { key: talker.key, body: { maxCostUsd } })
}

/** Returns the only new charge, which the event must report. */
async function chargeOf(talker: Talker, end: any): Promise<any> {
  const [charge] = await talker.charges()
  expect(charge.amountUsd).toBe(`-${end.costUsd}`)
  return charge
}

test.for(ofTier([{ isInline: false }], [{ isInline: true }, { isInline: false }]))(
  'ends a chat before it exceeds its cap; what was sent is charged and stored (inline: $isInline)',
  async ({ isInline }) => {
    const service = await startTalk({ isInline })
    const talker = await Talker.create(service)
    const events = await (await open(talker, [flood], { maxCostUsd: '0.5' })).all()
    const end = expectOneEnd(events, 'error')
    expect(end.error).toEqual({ code: 'BUDGET_REACHED', message: expect.stringContaining('maxCostUsd') })
    const { breakdown } = await chargeOf(talker, end)
    expect(unitsOf(end.costUsd)).toBe(priceOf(breakdown))
    // One more delta would have exceeded the cap.
    expect(unitsOf(end.costUsd)).toBeGreaterThan(5000 - deltaUnits)
    expect(unitsOf(end.costUsd)).toBeLessThanOrEqual(5000)
    expect((await talker.messages())[1]).toMatchObject({ content: textOf(events), truncated: true })
    expect(await talker.session()).toMatchObject({ spentUsd: end.costUsd })
    await expectSound(talker)
    await service.stop()
  },
)

test('rejects a cap of zero or below the cost of the first words with 403, and writes nothing', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const before = await talker.state()
  for (const maxCostUsd of ['0', '0.0000', '0.0001']) {
    const reader = await open(talker, [flood], { maxCostUsd })
    expect(reader.status).toBe(403)
    expect(await reader.end()).toMatchObject({
      type: 'error',
      error: { code: 'BUDGET_REACHED' },
      statusCode: 403,
      code: 'BUDGET_REACHED',
    })
  }
  await patch(talker, '0')
  const body = { sessionId: talker.sessionId, message: 'Hello' }
  const plain = await service.post('/api/chat', body, { key: talker.key, headers: { Accept: 'application/json' } })
  expect([plain.status, plain.body]).toMatchObject([
    403,
    {
      error: 'Budget reached',
      code: 'BUDGET_REACHED',
      message: expect.stringContaining('maxCostUsd leaves only 0.0000 USD'),
    },
  ])
  const { updatedAt: _, ...after } = (await talker.state()) as any
  expect(before).toMatchObject(after)
  await patch(talker, null)
  expect(await talker.session()).not.toHaveProperty('maxCostUsd')
  await expectSound(talker)
  await service.stop()
})

test('rejects an invalid cap with 400 and names the field', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const wrong = ['', '-1', '1.00001', '1e3', ' 1', '1,5', 'NaN', '9'.repeat(12), '0x1', 1, null, {}]
  for (const maxCostUsd of wrong) {
    const of = { key: talker.key }
    const { sessionId } = talker
    const answers = [
      await service.post('/api/chat', { sessionId, message: 'Hello', maxCostUsd }, of),
      await service.post('/api/sessions', { agentId: 'talk', maxCostUsd }, of),
      await service.post('/api/tasks', { endpointId: 'a.b', params: {}, maxCostUsd }, of),
      // Null removes a session's cap.
      ...(maxCostUsd === null ? [] : [await patch(talker, maxCostUsd as string)]),
    ]
    for (const { body, status } of answers) {
      expect([status, body.details], JSON.stringify(maxCostUsd)).toMatchObject([400, [{ path: 'maxCostUsd' }]])
    }
  }
  await service.stop()
})

test('the chats of a session cost at most its cap, even if reported usage exceeds it', async () => {
  const service = await startTalk({ limits: { maxWrittenOffUsdPerDay: 0 } })
  const talker = await Talker.create(service, { balanceUsd: '10.0000' })
  expect((await patch(talker, '1.0000')).body).toMatchObject({ maxCostUsd: '1.0000', spentUsd: '0.0000' })
  const first = expectOneEnd(await (await open(talker, [report])).all(), 'done')
  expect(await talker.session()).toMatchObject({ spentUsd: first.costUsd })
  // This usage costs ten times the rest of the cap.
  const second = await (await open(talker, [{ ...report, completionTokens: 7000 }])).all()
  const end = expectOneEnd(second, 'error')
  expect(end.error.code).toBe('BUDGET_REACHED')
  const { breakdown } = await chargeOf(talker, end)
  expect(await talker.session()).toMatchObject({ maxCostUsd: '1.0000', spentUsd: '1.0000' })
  const off = unitsOf(breakdown.writtenOffUsd)
  expect(unitsOf(end.costUsd) + off).toBe(priceOf(breakdown))
  expect(off).toBeGreaterThan(30_000)
  expect((await readMetrics(service)).get('errand_chat_written_off_usd_total')).toBeCloseTo(off / 10_000, 8)
  const refused = await open(talker, [report])
  expect([refused.status, (await refused.end()).error.code]).toEqual([403, 'BUDGET_REACHED'])
  expect((await talker.account()).balanceUsd).toBe('9.0000')
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})

test('usage reported beyond the cap is charged up to the cap, and the rest is written off', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const steps: Step[] = [
    { do: 'text', delta: 'Hello' },
    { ...report, completionTokens: 100_000 },
  ]
  const end = (await (await open(talker, steps, { maxCostUsd: '0.0345' })).all()).at(-1)
  expect(end.costUsd).toBe('0.0345')
  const { breakdown } = await chargeOf(talker, end)
  expect(345 + unitsOf(breakdown.writtenOffUsd)).toBe(priceOf(breakdown))
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})

test.for([
  ['balance', '0.2000', '0.3000', '0.4000', 'INSUFFICIENT_BALANCE', 2000],
  ['session cap', '0.3000', '0.2000', '0.4000', 'BUDGET_REACHED', 2000],
  ['chat cap', '0.3000', '0.4000', '0.2000', 'BUDGET_REACHED', 2000],
] as const)(
  'the lowest of balance, session cap and chat cap applies: %s',
  async ([, balanceUsd, ofSession, maxCostUsd, code, most]) => {
    const service = await startTalk()
    const talker = await Talker.create(service, { balanceUsd })
    await patch(talker, ofSession)
    const events = await (await open(talker, [flood], { maxCostUsd })).all()
    const end = expectOneEnd(events, 'error')
    expect(end.error.code).toBe(code)
    await chargeOf(talker, end)
    expect(unitsOf(end.costUsd)).toBeLessThanOrEqual(most)
    expect(unitsOf(end.costUsd)).toBeGreaterThan(most - deltaUnits)
    expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
    await service.stop()
  },
)

test("a session cap raised during a chat applies to that chat; a cap below the chat's hold is rejected", async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  await patch(talker, '0.5000')
  const reader = await open(talker, [flood])
  await reader.until('assistant_delta')
  const low = await patch(talker, '0.0100')
  expect([low.status, low.body.code]).toEqual([409, 'CONFLICT'])
  const [least] = /\d+\.\d{4}/.exec(low.body.message)!
  expect(unitsOf(least)).toBeGreaterThan(100)
  expect(await talker.session()).toMatchObject({ maxCostUsd: '0.5000' })
  expect((await patch(talker, '0.7500')).status).toBe(200)
  const events = await reader.all()
  expect(expectOneEnd(events, 'error').error.code).toBe('BUDGET_REACHED')
  const end = expectOneEnd(events, 'error')
  expect(unitsOf(end.costUsd)).toBeGreaterThan(7500 - deltaUnits)
  expect(unitsOf(end.costUsd)).toBeLessThanOrEqual(7500)
  expect(await talker.session()).toMatchObject({ maxCostUsd: '0.7500' })
  await service.stop()
}, 60_000)

test("200 concurrent chats each stay within their session's cap, and the ledger adds up", async () => {
  const service = await startTalk({ limits: { maxWrittenOffUsdPerDay: 0 } })
  const first = await Talker.create(service, { balanceUsd: '100.0000' })
  const talkers = [first, ...(await Promise.all(Array.from({ length: 199 }, () => first.another())))]
  // The first requests of sessions that have had no writes so far.
  const chats = talkers.map(async (talker, n) => {
    const cap = 100 + n
    expect((await patch(talker, `0.0${cap}`)).status).toBe(200)
    const reader = await open(talker, [{ do: 'text', delta: 'Hello' }, report], { maxCostUsd: '5' })
    return { cap, talker, end: await reader.end() }
  })
  for (const { cap, end, talker } of await Promise.all(chats)) {
    if (end.error?.code === 'RATE_LIMIT_EXCEEDED') continue
    // On a busy machine the end may be reported before the settlement. The charge is the same.
    if (end.error?.code === 'INTERNAL_ERROR')
      expect(end.error.message).toBe(
        "The turn has not been settled yet. Look up its charge in the session's transactions later.",
      )
    else expect(unitsOf(end.costUsd)).toBe(cap)
    await expect.poll(async () => (await talker.session()).spentUsd, soon).toBe(`0.0${cap}`)
  }
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
}, 120_000)
