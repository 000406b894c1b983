import { expect, test } from 'vitest'
import { soon, Talker, unitsOf } from '../../chat/chat-checks.ts'
import { WireCalls } from '../../openai/wire-calls.ts'
import { hang, reply } from '../../support/model-provider.ts'
import { startModels, type ModelWorld } from '../model-checks.ts'

const modes = [{ inThreads: false }, { inThreads: true }]
/** About 60 KB, close to the maximum. */
const schema = { type: 'object', properties: { it: { type: 'string', description: 'x'.repeat(60_000) } } }
const format = { type: 'json_schema', json_schema: { name: 'large', schema } }

async function quoteOf({ service, sessionId, key }: Talker): Promise<{ holdUsd: string }> {
  const { body, status } = await service.post('/api/quotes', { chat: { sessionId, message: 'Hello' } }, { key })
  expect(status, JSON.stringify(body)).toBe(200)
  return body
}

/** Returns the amount held for a chat whose provider has received the request but does not respond. */
async function heldBy({ provider }: ModelWorld, talker: Talker, open: () => Promise<{ leave: () => void }>) {
  provider.play(hang)
  const reader = open()
  await expect.poll(() => provider.requests.length, soon).toBe(1)
  const { heldUsd } = await talker.account()
  const [request] = provider.requests
  ;(await reader).leave()
  await talker.settled()
  return { heldUsd, bytes: Buffer.byteLength(JSON.stringify(request!.body)) }
}

/** Opens a completion; `leave` disconnects its client. */
async function openCompletion({ service, key }: Talker, body: object): Promise<{ leave: () => void }> {
  const controller = new AbortController()
  void fetch(`${service.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hello' }], ...body }),
    signal: controller.signal,
  }).catch(() => {})
  return { leave: () => controller.abort() }
}

test.for(modes)(
  'admission reserves the full cost of the first model call, including tool definitions (threads: $inThreads)',
  async ({ inThreads }) => {
    const world = await startModels({ inThreads })
    for (const agentId of ['model', 'openai', 'claude', 'thinker']) {
      const talker = await Talker.create(world.service, { agentId, balanceUsd: '100.0000' })
      const { holdUsd } = await quoteOf(talker)
      const { heldUsd } = await heldBy(world, talker, () => talker.open('Hello'))
      expect(heldUsd, agentId).toBe(holdUsd)
    }
    await world.stop()
  },
)

test("a chat's model requests do not affect later admissions of other callers or the same user", async () => {
  const world = await startModels()
  const first = await Talker.create(world.service, { agentId: 'model', balanceUsd: '1000.0000' })
  const second = await first.another('model')
  const other = await Talker.create(world.service, { agentId: 'model', balanceUsd: '1000.0000' })
  const admissions = async () => {
    const found: string[] = []
    for (const talker of [other, second]) {
      const session = await talker.another('model')
      found.push((await quoteOf(session)).holdUsd)
      found.push((await heldBy(world, session, () => session.open('Hello'))).heldUsd)
    }
    return found
  }
  const before = await admissions()
  expect(new Set(before).size).toBe(1)
  const ownHold = await heldBy(world, first, () => openCompletion(first, { model: 'model', response_format: format }))
  // A model without schema support gets the schema again as text. The hold counts each byte as a token.
  expect(unitsOf(ownHold.heldUsd)).toBeGreaterThan(unitsOf('18.0000'))
  const calls = new WireCalls(world.service, first.person)
  world.provider.play(reply({ text: ['{}'] }))
  const answered = await calls.complete('Hello', { model: 'model', response_format: format })
  expect(answered.status, JSON.stringify(answered.body)).toBe(200)
  expect(await admissions()).toEqual(before)
  await calls.expectSound()
  await world.stop()
})

test('a response format that the balance does not cover is rejected before the provider call', async () => {
  const world = await startModels()
  const calls = new WireCalls(world.service, await world.service.createPerson({ balanceUsd: '10.0000' }))
  const other = await Talker.create(world.service, { agentId: 'model', balanceUsd: '100.0000' })
  const { holdUsd } = await quoteOf(other)
  world.provider.play(reply({ text: ['{}'] }))
  for (const model of ['model', 'strict']) {
    const { body, status } = await calls.complete('Hello', { model, response_format: format })
    const isCovered = model === 'strict'
    // A provider with schema support gets the schema only once, so half as many tokens are held.
    expect([status, body.error?.code], model).toEqual(isCovered ? [200, undefined] : [402, 'insufficient_quota'])
    expect(world.provider.requests, model).toHaveLength(isCovered ? 1 : 0)
    expect(await quoteOf(other)).toMatchObject({ holdUsd })
  }
  await calls.expectSound()
  await world.stop()
})
