import { expect, test } from 'vitest'
import { countTokens } from '../../../server/agents/run/count-tokens.ts'
import { expectOneEnd, soon, Talker, textOf, unitsOf } from '../../chat/chat-checks.ts'
import { reply, replyThen, type ModelRequest, type Script } from '../../support/model-provider.ts'
import { onlyCharge, startModels } from '../model-checks.ts'

// Agent `model`: cached prompt tokens cost a tenth. Its provider caches earlier prompts.

const long = 'All the words that a long document has. '.repeat(500)

async function tokensOf({ body }: ModelRequest, messages = body.messages.length): Promise<number> {
  return await countTokens(body.messages.slice(0, messages).map(({ content }: any) => content))
}

const caching: Script = async (response, request) => {
  const cached = request.body.messages.length > 2 ? await tokensOf(request, request.body.messages.length - 2) : 0
  const sent = await tokensOf(request)
  const usage = { prompt_tokens: sent, completion_tokens: 20, prompt_tokens_details: { cached_tokens: cached } }
  await reply({ text: ['All ', 'of ', 'it. '.repeat(18)], usage })(response, request)
}
const hanging = replyThen({ text: ['Some ', 'words. '] }, () => {})

async function stopped(talker: Talker, message: string): Promise<any> {
  const reader = await talker.open(message)
  await expect.poll(() => textOf(reader.events.map(({ event }) => event)), soon).toBe('Some words. ')
  reader.leave()
  await talker.settled()
  return (await talker.charges())[0]
}

test.for([{ inThreads: false }, { inThreads: true }])(
  'a stopped reply with a cached prompt never costs more than the whole reply (threads: $inThreads)',
  async ({ inThreads }) => {
    const world = await startModels({ inThreads })
    const talker = await Talker.create(world.service, { agentId: 'model', balanceUsd: '100.0000' })
    world.provider.play(caching)
    expectOneEnd(await talker.chat(long), 'done')
    const whole = expectOneEnd(await talker.chat('And now?'), 'done')
    for (const message of ['And now?', 'Still?']) {
      world.provider.play(hanging)
      const charge = await stopped(talker, message)
      expect(charge.breakdown).toMatchObject({ isEstimated: true })
      expect(-unitsOf(charge.amountUsd)).toBeLessThanOrEqual(unitsOf(whole.costUsd))
      expect(charge.breakdown.cachedPromptTokens).toBeGreaterThan(4000)
    }
    await world.stop()
  },
)

test('a stopped reply pays the full rate for a prompt not reported as cached', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model', balanceUsd: '100.0000' })
  const uncached = reply({ text: ['Yes.'], usage: { prompt_tokens: 5000, completion_tokens: 2 } })
  world.provider.play(uncached)
  expectOneEnd(await talker.chat(long), 'done')
  world.provider.play(hanging)
  expect((await stopped(talker, 'And now?')).breakdown).toMatchObject({ cachedPromptTokens: 0, isEstimated: true })

  // A session's first message is uncached, regardless of other sessions.
  const other = await talker.another('model')
  await stopped(other, long)
  expect((await onlyCharge(other)).breakdown).toMatchObject({ cachedPromptTokens: 0, isEstimated: true })
  await world.stop()
})

test('a stopped reply pays the full rate for a new document', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'model', balanceUsd: '100.0000' })
  world.provider.play(caching)
  expectOneEnd(await talker.chat('Hello there'), 'done')
  expectOneEnd(await talker.chat('And now?'), 'done')
  world.provider.play(hanging)
  const { breakdown } = await stopped(talker, long)
  expect(breakdown.promptTokens - breakdown.cachedPromptTokens).toBeGreaterThanOrEqual(await countTokens([long]))
  // Tools, instructions and first message.
  expect(breakdown.cachedPromptTokens).toBeLessThan(400)
  await world.stop()
})
