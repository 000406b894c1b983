import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ChatPart, ChatRun, ErrandConfig, ModelCall } from '../../server/agents/config/define-config.ts'
import { startService } from '../support/test-service.ts'
import { expectOneEnd, priceOf, soon, Talker, textOf, unitsOf } from './chat-checks.ts'

// Code agents that announce their model calls through `modelCall`. A token costs 0.0001 USD, a tool call 0.0010 USD.

type Reply = (run: ChatRun) => AsyncGenerator<ChatPart>

const prompt = ['A prompt of several words.']
const words = 'one two three four five six seven eight'

/** Starts a service with this agent, and a session with it. */
async function startCalls(reply: Reply, { balanceUsd = '10.0000' } = {}) {
  const pricing = { inputPerMillionUsd: '100', outputPerMillionUsd: '100', toolCallUsd: '0.0010' }
  const chat = { pricing, maxOutputTokens: 100, reply }
  const config: ErrandConfig = { agents: [{ kind: 'code', id: 'calls', name: 'Calls', chat }] }
  const service = await startService({ config, limits: { executionsPerMinute: 0, abuseFailures: 0 } })
  return { service, talker: await Talker.create(service, { agentId: 'calls', balanceUsd }) }
}

/** Returns the session's only charge, which must match its receipt, and expects that the ledger balances. */
async function chargeOf(talker: Talker): Promise<any> {
  await talker.settled()
  const [charge, ...more] = await talker.charges()
  expect(more).toEqual([])
  expect(-unitsOf(charge.amountUsd)).toBe(priceOf(charge.breakdown))
  expect(await talker.service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  return charge
}

test('a reply costs what its model calls report, not the text that it shows', async () => {
  const { service, talker } = await startCalls(async function* ({ modelCall }) {
    yield { type: 'text', delta: 'Before. ' }
    for (const finishReason of ['stop', 'length'] as const) {
      const call = await modelCall({ prompt, tools: [{ name: 'weather' }] })
      expect(call.outputTokensMax).toBe(100)
      call.wrote(words)
      yield { type: 'text', delta: 'Shown. ' }
      await call.end({ promptTokens: 30, cachedPromptTokens: 10, completionTokens: 7, finishReason })
    }
    yield { type: 'text', delta: 'After.' }
  })
  const events = await talker.chat('Hello')
  expect(textOf(events)).toBe('Before. Shown. Shown. After.')
  const end = expectOneEnd(events, 'done')
  expect(end).toMatchObject({ costUsd: '0.0074', finishReason: 'length' })
  expect(end.usage).toMatchObject({ promptTokens: 60, cachedPromptTokens: 20, completionTokens: 14 })
  expect((await chargeOf(talker)).breakdown.isEstimated).toBe(false)
  await service.stop()
})

test.each([
  ['without usage', (call: ModelCall) => call.end(), true],
  ['with invalid counts', (call: ModelCall) => call.end({ promptTokens: NaN, completionTokens: -3 }), true],
  ['never', async () => {}, true],
  [
    'twice',
    async (call: ModelCall) => {
      const counts = { promptTokens: 6, completionTokens: 8 }
      await Promise.all([call.end(counts), call.end(counts), call.end()])
      call.fail()
    },
    false,
  ],
])('a call that ends %s is charged once', async (_, end, isEstimated) => {
  const { service, talker } = await startCalls(async function* ({ modelCall }) {
    const call = await modelCall({ prompt })
    call.wrote(words)
    yield { type: 'text', delta: words }
    await end(call)
  })
  const { usage } = expectOneEnd(await talker.chat('Hello'), 'done')
  expect(usage).toMatchObject({ promptTokens: 6, completionTokens: 8 })
  expect((await chargeOf(talker)).breakdown.isEstimated).toBe(isEstimated)
  await service.stop()
})

test('a failed call costs nothing, and its hold covers the retry', async () => {
  const { service, talker } = await startCalls(
    async function* ({ modelCall }) {
      for (let tries = 0; tries < 5; tries++) {
        const failed = await modelCall({ prompt })
        failed.wrote(words)
        failed.fail()
      }
      const call = await modelCall({ prompt })
      yield { type: 'text', delta: 'Well.' }
      await call.end({ promptTokens: 5, completionTokens: 2 })
    },
    { balanceUsd: '0.0200' },
  )
  expect(expectOneEnd(await talker.chat('Hello'), 'done').costUsd).toBe('0.0007')
  await chargeOf(talker)
  await service.stop()
})

test('a call gets the output limit that the cap of the session covers, and none starts beyond it', async () => {
  const limits: number[] = []
  const { service, talker } = await startCalls(async function* ({ modelCall }) {
    for (;;) {
      const call = await modelCall({ prompt: ['x'], outputTokensMax: 80 })
      limits.push(call.outputTokensMax)
      yield { type: 'text', delta: '7' }
      await call.end({ promptTokens: 1, completionTokens: call.outputTokensMax })
    }
  })
  const path = `/api/sessions/${talker.sessionId}`
  await service.request('PATCH', path, { key: talker.key, body: { maxCostUsd: '0.0200' } })
  const end = expectOneEnd(await talker.chat('Hello'), 'error')
  expect(end.error.code).toBe('BUDGET_REACHED')
  expect(limits[0]).toBe(80)
  expect(limits.at(-1)).toBeLessThan(80)
  expect(unitsOf(end.costUsd)).toBe(limits.reduce((sum, tokens) => sum + tokens + 1, 0))
  expect(unitsOf(end.costUsd)).toBeLessThanOrEqual(200)
  await chargeOf(talker)
  await service.stop()
})

test('parallel calls are each held in full, and each is charged its own usage', async () => {
  let started = 0
  const held: string[] = []
  const parts: { talker?: Talker } = {}
  const { service, talker } = await startCalls(async function* ({ modelCall }) {
    const calls = await Promise.all([80, 20, 50].map((outputTokensMax) => modelCall({ prompt, outputTokensMax })))
    started = calls.length
    held.push((await parts.talker!.account()).heldUsd)
    // The smallest call ends first, and the largest is still open.
    await calls[1]!.end({ promptTokens: 6, completionTokens: 20 })
    const late = await modelCall({ prompt, outputTokensMax: 90 })
    held.push((await parts.talker!.account()).heldUsd)
    for (const call of [calls[0]!, calls[2]!, late])
      await call.end({ promptTokens: 6, completionTokens: call.outputTokensMax })
    yield { type: 'text', delta: 'Done.' }
  })
  parts.talker = talker
  const end = expectOneEnd(await talker.chat('Hello'), 'done')
  expect(started).toBe(3)
  expect(end.usage).toMatchObject({ promptTokens: 24, completionTokens: 240 })
  expect(unitsOf(held[0]!)).toBeGreaterThanOrEqual(150 + 3 * 6)
  expect(unitsOf(held[1]!)).toBeGreaterThanOrEqual(240 + 4 * 6)
  await chargeOf(talker)
  await service.stop()
})

test('a tool may start only when its price is held', async () => {
  const ran: string[] = []
  const { service, talker } = await startCalls(
    async function* ({ modelCall }) {
      for (let at = 1; ; at++) {
        const call = await modelCall({ prompt: ['x'], outputTokensMax: 1 })
        const id = `call-${at}`
        await call.callsTool('{}')
        ran.push(id)
        yield { type: 'tool-call', id, name: 'weather', arguments: {} }
        yield { type: 'tool-result', id, output: 21 }
        await call.end({ promptTokens: 1, completionTokens: 1 })
      }
    },
    { balanceUsd: '0.1000' },
  )
  const events = await talker.chat('Hello')
  expectOneEnd(events, 'error')
  expect(events.filter(({ type }) => type === 'tool_call').length).toBe(ran.length)
  expect(ran.length).toBeGreaterThan(50)
  const { breakdown } = await chargeOf(talker)
  expect(breakdown.toolCalls).toBe(ran.length)
  await service.stop()
})

test('a cap below the maximum cost of a call leaves room for the tool that the call requests and for the answer', async () => {
  const outputTokensMax: number[] = []
  const { service, talker } = await startCalls(async function* ({ modelCall }) {
    for (const tools of [[{ name: 'weather' }], []]) {
      const call = await modelCall({ prompt: ['x'], tools })
      outputTokensMax.push(call.outputTokensMax)
      if (tools.length > 0) {
        await call.callsTool('{}')
        yield { type: 'tool-call', id: 'call-1', name: 'weather', arguments: {} }
        yield { type: 'tool-result', id: 'call-1', output: 21 }
      }
      // Adapters report tool calls as `length`, because only the step limit lets a reply end with them.
      const finishReason = tools.length > 0 ? 'length' : 'stop'
      await call.end({ promptTokens: 1, completionTokens: 1, finishReason })
    }
    yield { type: 'text', delta: 'Warm.' }
  })
  const session = `/api/sessions/${talker.sessionId}`
  await service.request('PATCH', session, { key: talker.key, body: { maxCostUsd: '0.0640' } })
  expectOneEnd(await talker.chat('Hello'), 'done')
  expect(outputTokensMax[0]).toBeLessThan(100)
  expect((await chargeOf(talker)).breakdown).toMatchObject({ promptTokens: 2, completionTokens: 2, toolCalls: 1 })
  await service.stop()
})

test.each([
  ['the output so far', false],
  ['the usage that arrives right after the stop', true],
])('a reply that is stopped during a call costs its prompt and %s, and starts no other call', async (_, isReported) => {
  let isRefused = false
  const { service, talker } = await startCalls(async function* ({ modelCall, signal }) {
    const call = await modelCall({ prompt })
    call.wrote(words)
    yield { type: 'text', delta: words }
    while (!signal.aborted) await delay(5)
    if (isReported) await call.end({ promptTokens: 6, completionTokens: 9 })
    await modelCall({ prompt }).catch(() => (isRefused = true))
    await delay(100)
  })
  const reader = await talker.open('Hello')
  await reader.until('assistant_delta')
  reader.leave()
  const { breakdown } = await chargeOf(talker)
  expect(breakdown).toMatchObject({ promptTokens: 6, completionTokens: isReported ? 9 : 8, isEstimated: !isReported })
  await expect.poll(() => isRefused, soon).toBe(true)
  await service.stop()
})

test('a report belongs to its own call, so a stopped reply pays for what the other call wrote', async () => {
  const { service, talker } = await startCalls(async function* ({ modelCall, signal }) {
    const [open, ended] = [await modelCall({ prompt }), await modelCall({ prompt: ['Short.'] })]
    open.wrote(words)
    await ended.end({ promptTokens: 2, completionTokens: 3 })
    yield { type: 'text', delta: words }
    while (!signal.aborted) await delay(5)
  })
  const reader = await talker.open('Hello')
  await reader.until('assistant_delta')
  reader.leave()
  expect((await chargeOf(talker)).breakdown).toMatchObject({ promptTokens: 6 + 2, completionTokens: 8 + 3 })
  await service.stop()
})

test('a reply that fails between its calls costs nothing if no call has reported usage', async () => {
  const { service, talker } = await startCalls(async function* ({ modelCall }) {
    const call = await modelCall({ prompt })
    call.wrote(words)
    yield { type: 'text', delta: words }
    throw new Error('The framework failed.')
  })
  const end = expectOneEnd(await talker.chat('Hello'), 'error')
  expect(end).toMatchObject({ error: { code: 'AGENT_ERROR', message: 'The framework failed.' }, costUsd: '0.0000' })
  await talker.settled()
  await service.stop()
})
