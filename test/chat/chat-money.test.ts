import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { ErrandError } from '../../server/kernel/errors.ts'
import { createServiceLog } from '../../server/app/service-log.ts'
import { readMetrics } from '../api/exposition.ts'
import { say, type Step } from '../support/chat-agents.ts'
import type { ChatReader } from '../support/chat-reader.ts'
import { ofTier } from '../run/tiers.ts'
import type { TestService } from '../support/test-service.ts'
import { expectOneEnd, expectSound, filesIn, priceOf, soon, startTalk, Talker, unitsOf } from './chat-checks.ts'

const sessions = ofTier(40, 200)

type Crowd = { service: TestService; talkers: Talker[]; ends: any[]; charged: number }

/**
 * Sends the message simultaneously in all sessions of a user with that balance. Sends it again while the service asks
 * for a retry, because other chats hold the balance.
 */
async function crowd(balanceUsd: string, steps: Step[]): Promise<Crowd> {
  // A crowd blocks the test thread, which also renews the leases of a PostgreSQL node.
  const service = await startTalk({ limits: { leaseSeconds: 30 } })
  const first = await Talker.create(service, { balanceUsd })
  const talkers = [first, ...(await Promise.all(Array.from({ length: sessions - 1 }, () => first.another())))]
  const seen: { balance: number; held: number }[] = []
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const { balanceUsd: balance, heldUsd } = await first.account()
      seen.push({ balance: unitsOf(balance), held: unitsOf(heldUsd) })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const readers: ChatReader[] = []
  const send = async (talker: Talker, n: number) => {
    for (;;) {
      const reader = await talker.do(...steps)
      const end = await reader.end()
      readers[n] = reader
      if (reader.headers['retry-after'] === undefined) return end
      expect([reader.status, reader.headers['retry-after']]).toEqual([403, '5'])
      await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 100))
    }
  }
  const ends = await Promise.all(talkers.map(send))
  isOver = true
  await watching
  expect(seen.length).toBeGreaterThan(0)
  for (const { balance, held } of seen) {
    expect(held).toBeGreaterThanOrEqual(0)
    expect(held).toBeLessThanOrEqual(balance)
  }
  let charged = 0
  for (const [n, talker] of talkers.entries()) {
    const charges = await talker.charges()
    const { costUsd = '0.0000', error, type } = ends[n]
    if (type === 'error') expect(error.code).toBe('INSUFFICIENT_BALANCE')
    expect(charges.length).toBe(readers[n]!.status === 200 ? 1 : 0)
    for (const { amountUsd } of charges) charged -= unitsOf(amountUsd)
    expect(charges.reduce((sum, { amountUsd }) => sum - unitsOf(amountUsd), 0)).toBe(unitsOf(costUsd))
  }
  expect(charged).toBeLessThanOrEqual(unitsOf(balanceUsd))
  const { balanceUsd: left, heldUsd } = await first.account()
  expect(heldUsd).toBe('0.0000')
  expect(unitsOf(left)).toBe(unitsOf(balanceUsd) - charged)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  return { service, talkers, ends, charged }
}

const finished = ({ ends }: Crowd) => ends.filter(({ type }) => type === 'done').length

test(`${sessions} concurrent chats, far below their holds: the 20 that the balance covers finish`, async () => {
  // 10 × 0.150005 + 50 × 0.6 per thousand: 0.0315 each.
  const steps: Step[] = [
    { do: 'text', delta: 'A short reply.' },
    { do: 'wait', ms: 20 },
    { do: 'usage', promptTokens: 10, completionTokens: 50 },
  ]
  const result = await crowd('0.6300', steps)
  expect(finished(result)).toBeGreaterThanOrEqual(18)
  expect(finished(result)).toBeLessThanOrEqual(20)
  await result.service.stop()
}, 120_000)

test(`${sessions} concurrent chats of 1,000 tokens in small deltas: the 20 that the balance covers finish`, async () => {
  const steps: Step[] = [
    { do: 'flood', times: 250, delta: 'few ', everyMs: 1 },
    { do: 'usage', promptTokens: 10, completionTokens: 1000 },
  ]
  const result = await crowd('12.0400', steps)
  expect(finished(result)).toBeGreaterThanOrEqual(18)
  expect(finished(result)).toBeLessThanOrEqual(20)
  await result.service.stop()
}, 180_000)

test('a chat that exceeds the balance is charged at most the balance and stored as truncated', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd: '0.5000' })
  const reader = await talker.do({ do: 'flood', times: 100_000, delta: 'sixteen letters ', everyMs: 1 })
  const events = await reader.all()
  const end = expectOneEnd(events, 'error')
  expect([reader.status, end.error.code]).toEqual([200, 'INSUFFICIENT_BALANCE'])
  const { balanceUsd, heldUsd } = await talker.account()
  expect(heldUsd).toBe('0.0000')
  expect(unitsOf(balanceUsd)).toBeGreaterThanOrEqual(0)
  // One more delta of two tokens would have exceeded the balance.
  const [charge, ...more] = await talker.charges()
  expect(more).toEqual([])
  expect(charge.amountUsd).toBe(`-${end.costUsd}`)
  expect(-unitsOf(charge.amountUsd)).toBe(priceOf(charge.breakdown))
  const given = events.slice(0, -1).map(({ delta }) => delta)
  expect(-unitsOf(charge.amountUsd)).toBeGreaterThan(5000 - 13)
  expect((await talker.messages())[1]).toMatchObject({ content: given.join(''), truncated: true })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.app.store.credit({
    userId: talker.person.userId,
    amount: 10_000,
    description: 'More',
    idempotencyKey: null,
  })
  await expectSound(talker)
  await service.stop()
})

const report: Step = { do: 'usage', promptTokens: 0, completionTokens: 10_000 }

test('usage reported beyond the balance ends the reply, and the excess is written off and reported', async () => {
  const lines: string[] = []
  const log = createServiceLog('warn', { write: (line: string) => void lines.push(line) })
  const service = await startTalk({ log })
  const talker = await Talker.create(service, { balanceUsd: '0.5000' })
  const file = filesIn(service)('goes-on')
  const reader = await talker.do({ do: 'text', delta: 'x' }, report, report, { do: 'touch', file }, report)
  const end = expectOneEnd(await reader.all(), 'error')
  expect(end).toMatchObject({ error: { code: 'INSUFFICIENT_BALANCE' }, costUsd: '0.5000' })
  expect(existsSync(file)).toBe(false)
  expect((await talker.messages())[1]).toMatchObject({ content: 'x', truncated: true })
  const [charge] = await talker.charges()
  expect(charge).toMatchObject({
    amountUsd: '-0.5000',
    balanceAfterUsd: '0.0000',
    breakdown: { writtenOffUsd: '5.5000' },
  })
  expect(await talker.account()).toEqual({ balanceUsd: '0.0000', heldUsd: '0.0000' })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  expect((await talker.open('Hello')).status).toBe(403)
  const { userId } = talker.person
  expect((await readMetrics(service)).get('errand_chat_written_off_usd_total')).toBe(5.5)
  expect(lines.map((line) => JSON.parse(line)).filter(({ writtenOffUsd }) => writtenOffUsd)).toMatchObject([
    { userId, sessionId: talker.sessionId, writtenOffUsd: '5.5000' },
  ])
  expect(await service.app.store.getUser(userId)).toMatchObject({ writtenOff: 55_000 })
  const { users } = await service.app.store.listUsers({ limit: 10, offset: 0 })
  expect(users.map(({ writtenOff }) => writtenOff)).toEqual([55_000])
  await service.stop()
})

test('a reply settled late reports its write-off in log, metrics and account on settlement', async () => {
  const lines: string[] = []
  const log = createServiceLog('warn', { write: (line: string) => void lines.push(line) })
  const service = await startTalk({ log })
  const talker = await Talker.create(service, { balanceUsd: '0.5000' })
  const { store } = service.app.services
  const { settleTurn } = store
  store.settleTurn = () => Promise.reject(new ErrandError('SERVICE_UNAVAILABLE', 'The disk is full.'))
  const writtenOff = () => lines.map((line) => JSON.parse(line)).filter(({ writtenOffUsd }) => writtenOffUsd)
  const reader = await talker.do({ do: 'text', delta: 'x' }, report)
  const end = expectOneEnd(await reader.all(), 'error')
  expect(end.error).toEqual({
    code: 'INTERNAL_ERROR',
    message: "The turn has not been settled yet. Look up its charge in the session's transactions later.",
  })
  expect(end).not.toHaveProperty('costUsd')
  const { userId } = talker.person
  const runs = 'errand_runs_total{kind="chat",end="truncated",agent="talk"}'
  const told = async () => {
    const metrics = await readMetrics(service)
    return [metrics.get(runs) ?? 0, metrics.get('errand_chat_written_off_usd_total')]
  }
  expect([await told(), writtenOff(), await store.getUser(userId)]).toMatchObject([[0, 0], [], { writtenOff: 0 }])
  store.settleTurn = settleTurn
  await talker.settled()
  await expect.poll(told, soon).toEqual([1, 5.5])
  expect(writtenOff()).toMatchObject([{ userId, sessionId: talker.sessionId, writtenOffUsd: '5.5000' }])
  expect(await store.getUser(userId)).toMatchObject({ writtenOff: 55_000 })
  expect(await talker.charges()).toMatchObject([{ amountUsd: '-0.5000', breakdown: { writtenOffUsd: '5.5000' } }])
  expect(await store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})

test('a reply whose settlement fails is free and does not end with done', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const before = await talker.state()
  const { store } = service.app.services
  const { settleTurn } = store
  store.settleTurn = (input) => (input.cost > 0 ? Promise.reject(new Error('broken')) : settleTurn(input))
  const end = expectOneEnd(await talker.chat('Hello'), 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_INTERRUPTED' }, costUsd: '0.0000' })
  store.settleTurn = settleTurn
  expect(await talker.state()).toEqual(before)
  await expectSound(talker)
  await service.stop()
})

test.for(ofTier([{ isInline: false }], [{ isInline: true }, { isInline: false }]))(
  'an agent makes only tool calls whose cost can be held, without a write-off (inline: $isInline)',
  async ({ isInline }) => {
    const service = await startTalk({ isInline })
    const talker = await Talker.create(service, { agentId: 'tools', balanceUsd: '0.3500' })
    const file = filesIn(service)('called')
    const call = (n: number): Step[] => [
      { do: 'call', id: `call-${n}` },
      { do: 'touch', file: `${file}-${n}` },
      { do: 'result', id: `call-${n}`, output: {} },
    ]
    const reader = await talker.do(...[0, 1, 2, 3, 4].flatMap(call))
    const end = expectOneEnd(await reader.all(), 'error')
    expect(end).toMatchObject({ error: { code: 'INSUFFICIENT_BALANCE' }, costUsd: '0.3000' })
    expect([0, 1, 2, 3, 4].map((n) => existsSync(`${file}-${n}`))).toEqual([true, true, true, false, false])
    const [{ breakdown }] = await talker.charges()
    expect(breakdown).toMatchObject({ toolCalls: 3 })
    expect(breakdown).not.toHaveProperty('writtenOffUsd')
    await service.stop()
  },
)

test('tasks cannot spend the amount that a chat holds', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd: '0.3100' })
  const reader = await talker.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  await reader.until('assistant_delta')
  const { heldUsd } = await talker.account()
  const statuses: number[] = []
  for (let n = 0; n < 31; n++) statuses.push((await service.createTask(talker.key, 'work.echo')).status)
  const free = 3100 - unitsOf(heldUsd)
  expect(statuses.filter((status) => status === 200)).toHaveLength(Math.floor(free / 100))
  expect(new Set(statuses)).toContain(403)
  reader.leave()
  await talker.settled()
  expect((await service.createTask(talker.key, 'work.echo')).status).toBe(200)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await service.stop()
})

test('if the usage reported with text exceeds the balance, only the balance is charged', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd: '0.5000' })
  const message = say({ do: 'text', delta: 'x' }, { do: 'usage', promptTokens: 0, completionTokens: 10_000 })
  const end = (await talker.chat(message)).at(-1)
  expect(end.type === 'done' || end.error.code === 'INSUFFICIENT_BALANCE').toBe(true)
  expect(end.costUsd).toBe('0.5000')
  expect(await talker.account()).toEqual({ balanceUsd: '0.0000', heldUsd: '0.0000' })
  await service.stop()
})
