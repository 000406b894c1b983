import { expect, test } from 'vitest'
import { soon, Talker } from '../../chat/chat-checks.ts'
import { endless, hang, reply, replyThen } from '../../support/model-provider.ts'
import { maxOutputTokens } from '../model-agents.ts'
import { expectSound, onlyCharge, startModels } from '../model-checks.ts'

const modes = [{ inThreads: false }, { inThreads: true }]
const lookUp = { id: 'a', name: 'weather', args: '{"city":"Bern"}' }

test.for(modes)(
  'leaving in the second step aborts it and charges the first step plus the counted second (threads: $inThreads)',
  async ({ inThreads }) => {
    const world = await startModels({ inThreads })
    const talker = await Talker.create(world.service, { agentId: 'model' })
    world.provider.play(
      reply({ calls: [lookUp], usage: { prompt_tokens: 100, completion_tokens: 20 } }),
      replyThen({ text: ['The weather is fine. '.repeat(20)] }, hang),
    )
    const reader = await talker.open('How is the weather?')
    await reader.until('assistant_delta')
    const leftAt = Date.now()
    reader.leave()
    await expect.poll(() => world.provider.requests[1]!.abortedAt, soon).not.toBeNull()
    expect(world.provider.requests[1]!.abortedAt! - leftAt).toBeLessThan(1000)
    await talker.settled()
    const { breakdown } = await onlyCharge(talker)
    expect(breakdown).toMatchObject({ toolCalls: 1, isEstimated: true })
    // Counts the prompt twice: as reported, and again with a tool call and its result.
    expect(breakdown.promptTokens).toBeGreaterThan(200)
    expect(breakdown.promptTokens).toBeLessThan(400)
    expect([breakdown.completionTokens, breakdown.reasoningTokens]).toEqual([20 + 101, 0])
    expect((await talker.messages())[1]).toMatchObject({ truncated: true })
    expect(world.provider.requests).toHaveLength(2)
    await expectSound(world, talker)
    await world.stop()
  },
)

test('a client that leaves pays for finished steps and the prompt of the running step', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(
    reply({ calls: [lookUp], usage: { prompt_tokens: 1000, completion_tokens: 20 } }),
    replyThen({ text: ['The weather '] }, hang),
  )
  const reader = await talker.open('How is the weather?')
  await reader.until('assistant_delta')
  reader.leave()
  await talker.settled()
  const { breakdown } = await onlyCharge(talker)
  expect(breakdown.promptTokens).toBeGreaterThan(2000)
  expect(breakdown.promptTokens).toBeLessThan(2400)
  await world.stop()
})

test.for(modes)(
  'leaving during endless output stops the model and charges the output so far (threads: $inThreads)',
  async ({ inThreads }) => {
    const world = await startModels({ inThreads })
    const talker = await Talker.create(world.service, { agentId: 'model' })
    world.provider.play(endless('word '))
    const reader = await talker.open('Never stop.')
    await expect.poll(() => reader.events.length, soon).toBeGreaterThan(20)
    reader.leave()
    await expect.poll(() => world.provider.requests[0]!.abortedAt, soon).not.toBeNull()
    await talker.settled()
    const { breakdown } = await onlyCharge(talker)
    const [, stored] = await talker.messages()
    expect(stored).toMatchObject({ truncated: true, content: expect.stringMatching(/^(?:word ){20,}$/) })
    expect(breakdown).toMatchObject({ isEstimated: true })
    expect(breakdown.completionTokens).toBeGreaterThanOrEqual(stored.content.split(' ').length - 1)
    expect(breakdown.completionTokens).toBeLessThanOrEqual(maxOutputTokens)
    await expectSound(world, talker)
    await world.stop()
  },
)

test('a silent provider causes AGENT_TIMEOUT after turnTimeoutSeconds, and its request is aborted', async () => {
  const world = await startModels({ limits: { turnTimeoutSeconds: 3 } })
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(hang)
  const events = await talker.chat('Hello?')
  expect(events).toMatchObject([{ type: 'error', error: { code: 'AGENT_TIMEOUT' } }])
  const endedAt = Date.now()
  await expect.poll(() => world.provider.requests[0]!.abortedAt, soon).not.toBeNull()
  expect(world.provider.requests[0]!.abortedAt! - endedAt).toBeLessThan(1000)
  await expectSound(world, talker)
  await world.stop()
})

test('DELETE of the session stops the model and settles its turn', async () => {
  const world = await startModels({ inThreads: true })
  const talker = await Talker.create(world.service, { agentId: 'model' })
  world.provider.play(replyThen({ text: ['A beginning '] }, hang))
  const reader = await talker.open('Hello?')
  await reader.until('assistant_delta')
  await world.service.request('DELETE', `/api/sessions/${talker.sessionId}`, { key: talker.key })
  expect((await reader.end()).error.code).toBe('AGENT_INTERRUPTED')
  await expect.poll(() => world.provider.requests[0]!.abortedAt, soon).not.toBeNull()
  await onlyCharge(talker)
  await world.stop()
})
