import { expect, test } from 'vitest'
import type { ErrandConfig } from '../../../server/agents/config/define-config.ts'
import { priceOf, unitsOf } from '../../chat/chat-checks.ts'
import { ChatReader } from '../../support/chat-reader.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { newDataDir, startService, type Answer, type Person, type TestService } from '../../support/test-service.ts'

const params = { text: 'Hello', n: 1 }
const lifeMs = 600_000

/** Defines an agent with a task and chats at these prices. On request it thinks until it is stopped. */
function agentAt(
  priceUsd: string,
  outputPer1kUsd: string,
  reasoningPer1kUsd = outputPer1kUsd,
  inputPer1kUsd = '0',
): ErrandConfig {
  const endpoint = { description: 'Does it.', priceUsd, params: {}, run: () => ({ ok: true }) }
  const chat = {
    pricing: { inputPer1kUsd, outputPer1kUsd, reasoningPer1kUsd },
    async *reply({ message, signal }: { message: string; signal: AbortSignal }) {
      if (message === 'Think') {
        yield { type: 'step', promptTokens: 0, outputTokensMax: 100 } as const
        yield { type: 'reasoning', delta: 'I think.' } as const
        yield { type: 'text', delta: 'So: ' } as const
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        return
      }
      yield { type: 'text', delta: 'Hello' } as const
      yield { type: 'usage', promptTokens: 10, completionTokens: 1000 } as const
    },
  }
  return { agents: [{ kind: 'code', id: 'one', name: 'One', endpoints: { run: endpoint, other: endpoint }, chat }] }
}

const atOne = agentAt('0.0100', '0.1')
const dearer = agentAt('0.0500', '0.5')

async function start(options: Parameters<typeof startService>[0] = {}) {
  const clock = new FakeClock()
  const service = await startService({ clock, config: atOne, ...options })
  return { clock, service, person: await service.createPerson() }
}

const task = { endpointId: 'one.run', params }

function quoteOf(service: TestService, { key }: Person, body: object): Promise<Answer> {
  return service.post('/api/quotes', body, { key })
}

async function taskQuote(service: TestService, person: Person): Promise<string> {
  const { body, status } = await quoteOf(service, person, { task })
  expect(status, JSON.stringify(body)).toBe(200)
  return body.quoteId
}

function create(service: TestService, { key }: Person, body: object, headers: Record<string, string> = {}) {
  return service.post('/api/tasks', { ...task, ...body }, { key, headers })
}

async function sessionOf(service: TestService, { key }: Person): Promise<string> {
  return (await service.post('/api/sessions', { agentId: 'one' }, { key })).body.sessionId
}

function chat(service: TestService, { key }: Person, body: object): Promise<ChatReader> {
  return ChatReader.open({ url: service.url, key, body: { message: 'Hello', ...body } })
}

/** Expects a 400 that names the quote, as for any invalid string. */
function expectForeign({ body, status }: Answer): void {
  const message = 'Must be a quote for this request. Request a new quote'
  expect([status, body.details]).toEqual([400, [{ path: 'quoteId', message }]])
}

test('a task quote returns price and expiry without charging, holding, writing or counting anything', async () => {
  const { clock, person, service } = await start({ limits: { executionsPerMinute: 3 } })
  const before = (await service.get('/api/account', person.key)).body
  const { body, headers, status } = await quoteOf(service, person, { task: { ...task, connectorIds: [], other: 1 } })
  expect([status, body]).toEqual([
    200,
    {
      quoteId: expect.stringMatching(/^quote_[\w-]+\.[\w-]{43}$/),
      priceUsd: '0.0100',
      worstCaseUsd: '0.0100',
      priceVersion: expect.stringMatching(/^[0-9a-f]{16}$/),
      expiresAt: new Date(clock.now() + lifeMs).toISOString(),
    },
  ])
  expect(body.quoteId.length).toBeLessThan(500)
  expect(headers.get('x-ratelimit-remaining')).toBe('3')
  expect((await service.get('/api/account', person.key)).body).toEqual(before)
  expect((await service.get('/api/transactions', person.key)).body.total).toBe(1)
  expect((await quoteOf(service, person, { task })).body.priceVersion).toBe(body.priceVersion)
  await service.stop()
})

test('a task quote keeps its price after a price change; later tasks cost more', async () => {
  const dataDir = newDataDir()
  const { clock, person, service } = await start({ dataDir })
  const { quoteId, priceVersion } = (await quoteOf(service, person, { task })).body
  await service.stop()
  const { service: later } = await start({ clock, dataDir, config: dearer })
  const { body } = await create(later, person, { quoteId })
  expect((await later.get(`/api/tasks/${body.taskId}?wait=20`, person.key)).body).toMatchObject({ costUsd: '0.0100' })
  const charges = await later.get(`/api/transactions?taskId=${body.taskId}`, person.key)
  expect(charges.body.transactions).toMatchObject([{ amountUsd: '-0.0100' }])
  const again = (await create(later, person, {})).body
  expect((await later.get(`/api/tasks/${again.taskId}?wait=20`, person.key)).body).toMatchObject({ costUsd: '0.0500' })
  const now = (await quoteOf(later, person, { task })).body
  expect(now.priceUsd).toBe('0.0500')
  expect(now.priceVersion).not.toBe(priceVersion)
  expect(await later.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await later.stop()
})

test('a quote admits one task: simultaneous or later reuse gets 409', async () => {
  const { person, service } = await start()
  const quoteId = await taskQuote(service, person)
  const answers = await Promise.all(Array.from({ length: 5 }, () => create(service, person, { quoteId })))
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409])
  const late = await create(service, person, { quoteId })
  expect([late.status, late.body]).toMatchObject([
    409,
    { code: 'CONFLICT', message: 'The quote has already been used. Request a new quote.' },
  ])
  expect((await service.get('/api/tasks', person.key)).body.total).toBe(1)
  expect((await service.get('/api/account', person.key)).body.balanceUsd).toBe('9.9900')
  await service.stop()
})

test('a retry with the same Idempotency-Key returns its task even after the quote expires', async () => {
  const { clock, person, service } = await start()
  const quoteId = await taskQuote(service, person)
  const key = { 'Idempotency-Key': 'once' }
  const first = await create(service, person, { quoteId }, key)
  expect((await create(service, person, { quoteId }, key)).body).toEqual(first.body)
  clock.advance(lifeMs)
  expect((await create(service, person, { quoteId }, key)).body).toEqual(first.body)
  expect((await create(service, person, { quoteId })).status).toBe(409)
  await service.stop()
})

test('a quote is valid for ten minutes and is then rejected with 409', async () => {
  const { clock, person, service } = await start()
  const quoteIds = [await taskQuote(service, person), await taskQuote(service, person)] as const
  clock.advance(lifeMs - 1)
  expect((await create(service, person, { quoteId: quoteIds[0] })).status).toBe(200)
  clock.advance(1)
  const { body, status } = await create(service, person, { quoteId: quoteIds[1] })
  expect([status, body.message]).toEqual([409, 'The quote has expired. Request a new quote.'])
  expect((await service.get('/api/tasks', person.key)).body.total).toBe(1)
  await service.stop()
})

test('rejects a quote of another user or request, and a quote with one altered character', async () => {
  const { person, service } = await start()
  const other = await service.createPerson()
  const quoteId = await taskQuote(service, person)
  expectForeign(await create(service, other, { quoteId }))
  expectForeign(await create(service, person, { quoteId, params: { ...params, n: 2 } }))
  expectForeign(await create(service, person, { quoteId, endpointId: 'one.other' }))
  const changed = Array.from(quoteId, (character, at) => {
    const replaced = character === 'A' ? 'B' : 'A'
    return quoteId.slice(0, at) + replaced + quoteId.slice(at + 1)
  })
  const forged = ['quote_', 'x', `${quoteId}A`, `${quoteId}.A`, `${quoteId}=`, quoteId.slice(0, -1), quoteId.slice(6)]
  // The last character of the signature contains unused bits.
  const last = quoteId.at(-1)!.charCodeAt(0)
  forged.push(quoteId.slice(0, -1) + String.fromCharCode(last + 1), `${quoteId.slice(0, 6)} ${quoteId.slice(6)}`)
  for (const text of [...changed, ...forged]) {
    if (text !== quoteId) expectForeign(await create(service, person, { quoteId: text }))
  }
  const { body, status } = await create(service, person, { quoteId: 'q'.repeat(5001) })
  expect([status, body.details]).toMatchObject([400, [{ path: 'quoteId' }]])
  // The order of the params does not matter, and the rejections have not used up the quote.
  expect((await create(service, person, { quoteId, params: { n: 1, text: 'Hello' } })).status).toBe(200)
  await service.stop()
})

test('a quote stays valid while its signing secret is the current or previous one', async () => {
  const [old, now] = ['the secret of the tests', 'another secret of the tests']
  let secrets = { current: old, previous: [] as string[] }
  const { person, service } = await start({ secrets: () => secrets })
  const [one, two] = [await taskQuote(service, person), await taskQuote(service, person)]
  await service.stop()
  const dataDir = newDataDir()
  const { service: other, person: who } = await start({ dataDir, secrets: () => secrets })
  const quoteId = await taskQuote(other, who)
  secrets = { current: now, previous: [old] }
  expect((await create(other, who, { quoteId })).status).toBe(200)
  for (const foreign of [one, two]) expectForeign(await create(other, who, { quoteId: foreign }))
  // A quote sets no price after its secret was retired, even in a service that used that secret before.
  const latest = await taskQuote(other, who)
  secrets = { current: 'a third secret of the tests', previous: [] }
  expectForeign(await create(other, who, { quoteId: latest }))
  await other.stop()
})

test('a rejected task leaves its quote usable, and a cap below the price rejects the task', async () => {
  const { person, service } = await start()
  const poor = await service.createPerson({ balanceUsd: '0' })
  const quoteId = await taskQuote(service, poor)
  expect((await create(service, poor, { quoteId })).body.code).toBe('INSUFFICIENT_BALANCE')
  await service.app.store.credit({ userId: poor.userId, amount: 100, description: 'More', idempotencyKey: null })
  expect((await create(service, poor, { quoteId })).status).toBe(200)
  const mine = await taskQuote(service, person)
  const low = await create(service, person, { quoteId: mine, maxCostUsd: '0.0099' })
  expect([low.status, low.body]).toMatchObject([
    403,
    {
      error: 'Budget reached',
      code: 'BUDGET_REACHED',
      message: 'At least 0.0100 USD is required, but maxCostUsd leaves only 0.0099 USD. Raise maxCostUsd.',
    },
  ])
  for (const maxCostUsd of ['0', '0.0000', '0.0099']) {
    expect((await create(service, person, { maxCostUsd })).body.code).toBe('BUDGET_REACHED')
  }
  expect((await service.get('/api/account', person.key)).body.balanceUsd).toBe('10.0000')
  expect((await create(service, person, { quoteId: mine, maxCostUsd: '0.01' })).status).toBe(200)
  await service.stop()
})

test('an invalid quote request fails like the actual request, with the nested field path', async () => {
  const { clock, person, service } = await start()
  const sessionId = await sessionOf(service, person)
  const other = await service.createPerson()
  const paths = async (body: object, who = person) => {
    const { body: answer, status } = await quoteOf(service, who, body)
    return [status, answer.details?.map(({ path }: any) => path) ?? answer.code]
  }
  expect(await paths({})).toEqual([400, ['']])
  expect(await paths({ task, chat: { sessionId, message: 'Hello' } })).toEqual([400, ['']])
  expect(await paths({ task: { endpointId: 'one.run' } })).toEqual([400, ['task.params']])
  expect(await paths({ task: { ...task, maxCostUsd: '-1' } })).toEqual([400, ['task.maxCostUsd']])
  expect(await paths({ task: { ...task, endpointId: 'one.none' } })).toEqual([404, 'NOT_FOUND'])
  expect(await paths({ task: { ...task, maxCostUsd: '0.0001' } })).toEqual([403, 'BUDGET_REACHED'])
  expect(await paths({ chat: { sessionId, message: '' } })).toEqual([400, ['chat.message']])
  const tooMany = { sessionId, message: 'Hello', params: { maxTokens: 1_000_000 } }
  expect(await paths({ chat: tooMany })).toEqual([400, ['chat.params.maxTokens']])
  expect(await paths({ chat: { sessionId: 'ses_0', message: 'Hello' } })).toEqual([404, 'NOT_FOUND'])
  expect(await paths({ chat: { sessionId, message: 'Hello' } }, other)).toEqual([404, 'NOT_FOUND'])
  expect(await paths({ chat: { sessionId, message: 'Hello', maxCostUsd: '0' } })).toEqual([403, 'BUDGET_REACHED'])
  clock.advance(24 * 3_600_000)
  expect(await paths({ chat: { sessionId, message: 'Hello' } })).toEqual([410, 'SESSION_EXPIRED'])
  const reader = await service.createKey(person.userId, ['read'])
  expect((await service.post('/api/quotes', { task }, { key: reader })).status).toBe(403)
  await service.stop()
})

test("an agent's quote estimates the first message of a new session, and cannot be sent with it", async () => {
  const { person, service } = await start()
  const estimate = async (chat: object) => await quoteOf(service, person, { chat: { message: 'Hello', ...chat } })
  const { body, status } = await estimate({ agentId: 'one' })
  expect([status, body.holdUsd]).toEqual([200, '0.2000'])
  expect((await service.get('/api/sessions', person.key)).body.total).toBe(0)
  expect((await estimate({ agentId: 'one', maxCostUsd: '0.05' })).body).toMatchObject({ worstCaseUsd: '0.0500' })

  const sessionId = await sessionOf(service, person)
  const { expiresAt: _, quoteId, ...prices } = body
  expect((await estimate({ sessionId })).body).toMatchObject(prices)
  const message = { sessionId, message: 'Hello', quoteId }
  expectForeign(await service.post('/api/chat', message, { key: person.key }))

  const refusalOf = async (chat: object) => {
    const { body: refusal } = await estimate(chat)
    return [refusal.statusCode, refusal.details?.map(({ path }: any) => path) ?? refusal.code]
  }
  expect(await refusalOf({})).toEqual([400, ['chat.sessionId']])
  expect(await refusalOf({ agentId: 'one', sessionId })).toEqual([400, ['chat.sessionId']])
  expect(await refusalOf({ connectorIds: ['con_0'], sessionId })).toEqual([400, ['chat.connectorIds']])
  expect(await refusalOf({ continues: 'ses_0', sessionId })).toEqual([400, ['chat.continues']])
  expect(await refusalOf({ agentId: 'one', continues: sessionId })).toEqual([400, ['chat.continues']])
  expect(await refusalOf({ agentId: 'one', continues: 'ses_0' })).toEqual([404, 'NOT_FOUND'])
  expect(await refusalOf({ agentId: 'none' })).toEqual([404, 'NOT_FOUND'])
  expect(await refusalOf({ agentId: 'one', connectorIds: ['con_0'] })).toEqual([404, 'CONNECTOR_NOT_FOUND'])
  await service.stop()
})

test("a quote for a session that continues another counts the other session's history as input", async () => {
  const { person, service } = await start({ config: agentAt('0.0100', '0.1', '0.1', '1') })
  const continues = await sessionOf(service, person)
  await (await chat(service, person, { sessionId: continues, message: 'many words '.repeat(1000) })).end()
  await service.request('PATCH', `/api/sessions/${continues}`, { key: person.key, body: { status: 'completed' } })
  const holdOf = async (to: object) =>
    (await quoteOf(service, person, { chat: { message: 'Hello', ...to } })).body.holdUsd
  const held = await holdOf({ agentId: 'one', continues })
  expect(unitsOf(held)).toBeGreaterThan(unitsOf(await holdOf({ agentId: 'one' })) + 10_000)
  const input = { agentId: 'one', continues }
  const { sessionId } = (await service.post('/api/sessions', input, { key: person.key })).body
  expect(await holdOf({ sessionId })).toBe(held)
  await service.stop()
})

test('a quoted chat uses the quoted rates for its hold, charge and receipt', async () => {
  const dataDir = newDataDir()
  const { clock, person, service } = await start({ dataDir })
  const sessionId = await sessionOf(service, person)
  const ask = { chat: { sessionId, message: 'Hello' } }
  const { body } = await quoteOf(service, person, ask)
  // The hold covers 2,000 tokens.
  expect(body).toMatchObject({ holdUsd: '0.2000', priceVersion: expect.stringMatching(/^[0-9a-f]{16}$/) })
  expect(body).not.toHaveProperty('priceUsd')
  expect(body).not.toHaveProperty('worstCaseUsd')
  await service.stop()
  const { service: later } = await start({ clock, dataDir, config: dearer })
  expectForeign(
    await later.post('/api/chat', { ...ask.chat, message: 'Other', quoteId: body.quoteId }, { key: person.key }),
  )
  const end = await (await chat(later, person, { sessionId, quoteId: body.quoteId })).end()
  expect(end).toMatchObject({ type: 'done', costUsd: '0.1000' })
  const path = `/api/transactions?sessionId=${sessionId}`
  const [charge] = (await later.get(path, person.key)).body.transactions
  expect(charge).toMatchObject({ amountUsd: '-0.1000', breakdown: { rates: { outputPer1kUsd: '0.1' } } })
  expect(priceOf(charge.breakdown)).toBe(1000)
  const dear = await (await chat(later, person, { sessionId })).end()
  expect(dear).toMatchObject({ type: 'done', costUsd: '0.5000' })
  expect((await quoteOf(later, person, ask)).body.priceVersion).not.toBe(body.priceVersion)
  await later.stop()
})

test('an abandoned model call is charged at the quoted rates', async () => {
  const dataDir = newDataDir()
  const { clock, person, service } = await start({ dataDir, config: agentAt('0.01', '0.1', '0.7') })
  const ask = { sessionId: await sessionOf(service, person), message: 'Think' }
  const { quoteId } = (await quoteOf(service, person, { chat: ask })).body
  await service.stop()
  // In this service, reasoning costs no more than text.
  const { service: later } = await start({ clock, dataDir })
  const reader = await chat(later, person, { ...ask, quoteId })
  await reader.until('assistant_delta')
  reader.leave()
  const charges = async () => (await later.get(`/api/transactions?sessionId=${ask.sessionId}`, person.key)).body
  await expect.poll(async () => (await charges()).total, { timeout: 20_000 }).toBe(1)
  const breakdown = { completionTokens: 6, reasoningTokens: 3, isEstimated: true }
  // Three tokens at 0.0001 and three of reasoning at 0.0007.
  expect((await charges()).transactions).toMatchObject([{ amountUsd: '-0.0024', breakdown }])
  await later.stop()
})

test('a quote admits one chat in its session, and the quoted cap ends that chat', async () => {
  const { clock, person, service } = await start()
  const [sessionId, otherId] = [await sessionOf(service, person), await sessionOf(service, person)]
  const quote = async (more: object = {}) => {
    const { body } = await quoteOf(service, person, { chat: { sessionId, message: 'Hello', ...more } })
    return body
  }
  const { quoteId } = await quote()
  const post = (body: object) => service.post('/api/chat', { message: 'Hello', ...body }, { key: person.key })
  expectForeign(await post({ sessionId: otherId, quoteId }))
  expectForeign(await create(service, person, { quoteId }))
  expectForeign(await post({ sessionId, quoteId: await taskQuote(service, person) }))
  expect((await (await chat(service, person, { sessionId, quoteId })).end()).type).toBe('done')
  expect(await post({ sessionId, quoteId })).toMatchObject({
    status: 409,
    body: { message: 'The quote has already been used. Request a new quote.' },
  })
  const capped = await quote({ maxCostUsd: '0.0300' })
  expect(capped).toMatchObject({ holdUsd: '0.0300', worstCaseUsd: '0.0300' })
  const end = await (await chat(service, person, { sessionId, quoteId: capped.quoteId })).end()
  expect(unitsOf(end.costUsd)).toBe(300)
  const late = await quote()
  clock.advance(lifeMs)
  expect(await post({ sessionId, quoteId: late.quoteId })).toMatchObject({
    status: 409,
    body: { message: 'The quote has expired. Request a new quote.' },
  })
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  await service.stop()
})
