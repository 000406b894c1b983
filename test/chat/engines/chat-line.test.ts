import { expect, test } from 'vitest'
import { lineMax } from '../../../server/chat/user-turns.ts'
import type { ChatReader } from '../../support/chat-reader.ts'
import { maxOutputTokens } from '../../models/model-agents.ts'
import { startModels } from '../../models/model-checks.ts'
import { hang, reply } from '../../support/model-provider.ts'
import { expectOneEnd, priceOf, soon, startTalk, Talker, unitsOf } from '../chat-checks.ts'

const writesMax = 4
/** Maximum tokens that providers add to a request with four tools, an instruction and a message. */
const aroundMax = 1000

/**
 * One chat that holds nearly the whole balance until its client leaves, and the maximum number of chats waiting for it.
 */
async function startLine() {
  const service = await startTalk({ limits: { maxWritesInFlight: writesMax } })
  const first = await Talker.create(service, { balanceUsd: '0.5000' })
  const holder = await first.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  await holder.until('assistant_delta')
  const waiting: Promise<ChatReader>[] = []
  const { chats } = service.app.services
  for (let place = 1; place <= lineMax; place++) {
    waiting.push((await first.another()).open('x'.repeat(4000)))
    await expect.poll(() => chats.waitingCount, soon).toBe(place)
  }
  return { service, first, holder, waiting }
}

test("chats waiting for their own user's holds block no other user's writes, and are counted", async () => {
  const { first, holder, service, waiting } = await startLine()
  const other = await service.createPerson()
  for (let write = 0; write < 2 * writesMax; write++) {
    expect((await service.post('/api/sessions', { agentId: 'talk' }, { key: other.key })).status).toBe(200)
  }
  const { body: metrics } = await service.get('/metrics')
  expect(metrics).toContain(`\nerrand_chats_waiting ${lineMax}\n`)
  holder.leave()
  const statuses = await Promise.all(waiting.map(async (reader) => (await reader).status))
  expect(statuses).toContain(200)
  for (const status of statuses) expect([200, 403]).toContain(status)
  for (const reader of waiting) await (await reader).all()
  await first.settled()
  expect(service.app.services.chats.waitingCount).toBe(0)
  await service.stop()
})

test('rejects a chat beyond the queue limit immediately, with a reason, and writes nothing', async () => {
  const { first, holder, service, waiting } = await startLine()
  const late = await first.another()
  const before = await late.state()
  const refused = await late.open('x'.repeat(4000))
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '5'])
  expect((await refused.all())[0]).toMatchObject({
    error: { code: 'RATE_LIMIT_EXCEEDED', message: expect.stringMatching(/20 chats waiting for balance/) },
  })
  expect(await late.state()).toEqual(before)
  const other = await Talker.create(service)
  expect((await other.chat('Hello')).at(-1).type).toBe('done')
  holder.leave()
  for (const reader of waiting) await (await reader).all()
  await first.settled()
  await service.stop()
})

test('a client that leaves gives up its slot in the queue, at any position', async () => {
  const service = await startTalk()
  const first = await Talker.create(service, { balanceUsd: '0.5000' })
  const { chats } = service.app.services
  const holder = await first.do({ do: 'text', delta: 'x' }, { do: 'await-abort' })
  await holder.until('assistant_delta')
  const [one, two] = [await openLeaving(first), await openLeaving(first)]
  await expect.poll(() => chats.waitingCount, soon).toBe(2)
  two.leave()
  await expect.poll(() => chats.waitingCount, soon).toBe(1)
  one.leave()
  await expect.poll(() => chats.waitingCount, soon).toBe(0)
  await Promise.all([one.answer, two.answer])
  holder.leave()
  await first.settled()
  await service.stop()
})

/** A chat whose client leaves on demand. */
async function openLeaving(first: Talker) {
  const { key, service } = first
  const { sessionId } = await first.another()
  const controller = new AbortController()
  const answer = fetch(`${service.url}/api/chat`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ sessionId, message: 'x'.repeat(4000) }),
    signal: controller.signal,
  }).catch(() => undefined)
  return { answer, leave: () => controller.abort() }
}

test('waits for other chats of the user even if those already hold their maximum', async () => {
  const world = await startModels()
  // The first of several model calls, of at most 0.6 each, holds more than half.
  const first = await Talker.create(world.service, { agentId: 'model', balanceUsd: '0.6500' })
  world.provider.play(reply({ text: ['Well. '], calls: [{ id: 'a', name: 'plain', args: '{}' }] }), hang)
  const holder = await first.open('Hello')
  await expect.poll(() => world.provider.requests.length, soon).toBe(2)
  const { balanceUsd, heldUsd } = await first.account()
  expect(unitsOf(balanceUsd) - unitsOf(heldUsd)).toBeLessThan(1000)
  const second = (await first.another('model')).open('7'.repeat(1000))
  await expect.poll(() => world.service.app.services.chats.waitingCount, soon).toBe(1)
  world.provider.play(reply({ text: ['Yes.'] }))
  holder.leave()
  expectOneEnd(await (await second).all(), 'done')
  await first.settled()
  await world.stop()
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
