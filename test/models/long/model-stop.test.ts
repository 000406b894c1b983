import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { countTokens } from '../../../server/agents/run/count-tokens.ts'
import { expectOneEnd, soon, Talker, textOf, unitsOf } from '../../chat/chat-checks.ts'
import { eventText, plainChunk, type ModelRequest, type Script } from '../../support/model-provider.ts'
import { onlyCharge, startModels } from '../model-checks.ts'
import { ofTier } from '../../run/tiers.ts'

// Agents `flat` and `hidden`: a token costs 0.0001 USD. Their provider writes one token per word at a steady pace, and
// reports usage at the end of a call.

type Bill = { prompt: number; words: number; thoughts: number; isOver: boolean }
type Pace = { words: number; everyMs: number; thoughts?: number }

const aroundMessage = 4
const modes = [{ inThreads: false }, { inThreads: true }]

/** Counts the prompt tokens of a request as the provider does: each message with some overhead. */
async function promptTokens({ body }: ModelRequest): Promise<number> {
  const texts = (body.messages as { content: string }[]).map(({ content }) => content)
  return (await countTokens(texts)) + aroundMessage * texts.length
}

/** Generates hidden reasoning, then words, one token per interval. Bills what it generated before the client disconnected. */
function steady({ everyMs, thoughts = 0, words }: Pace, bills: Map<string, Bill> = new Map()): Script {
  return async (response, request) => {
    const bill: Bill = { prompt: await promptTokens(request), words: 0, thoughts: 0, isOver: false }
    bills.set(request.body.messages.at(-1).content, bill)
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(eventText(plainChunk({ role: 'assistant', content: '' })))
    const isLeft = () => request.abortedAt !== null || response.destroyed
    const startedAt = performance.now()
    for (let token = 1; token <= thoughts + words && !isLeft(); token++) {
      await delay(startedAt + token * everyMs - performance.now())
      if (isLeft()) break
      if (token <= thoughts) bill.thoughts++
      else {
        bill.words++
        response.write(eventText(plainChunk({ content: ' word' })))
      }
    }
    bill.isOver = true
    finish(response, bill)
  }
}

function finish(response: ServerResponse, { prompt, thoughts, words }: Bill): void {
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: thoughts + words,
    completion_tokens_details: { reasoning_tokens: thoughts },
  }
  response.write(eventText({ ...plainChunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
  response.write(eventText({ ...plainChunk({}), choices: [], usage }))
  response.end('data: [DONE]\n\n')
}

test.for(modes)(
  'a reply stopped after 24 of 100 words costs at most the whole reply (threads: $inThreads)',
  async ({ inThreads }) => {
    const world = await startModels({ inThreads })
    const long = 'All the words that a long prompt has. '.repeat(2100)
    for (const message of ['Count to a hundred.', long]) {
      const talker = await Talker.create(world.service, { agentId: 'flat', balanceUsd: '100.0000' })
      world.provider.play(steady({ words: 100, everyMs: 1 }))
      const whole = expectOneEnd(await talker.chat(message), 'done')
      const other = await talker.another('flat')
      world.provider.play(steady({ words: 100, everyMs: 60 }))
      const reader = await other.open(message)
      await expect
        .poll(() => textOf(reader.events.map(({ event }) => event)).split(' ').length - 1, soon)
        .toBeGreaterThanOrEqual(24)
      reader.leave()
      await other.settled()
      const { amountUsd, breakdown } = await onlyCharge(other)
      expect(breakdown).toMatchObject({ isEstimated: true, reasoningTokens: 0 })
      expect(breakdown.completionTokens).toBeGreaterThanOrEqual(24)
      expect(-unitsOf(amountUsd)).toBeLessThanOrEqual(unitsOf(whole.costUsd))
      expect(breakdown.promptTokens).toBeGreaterThan((await countTokens([message])) - 1)
    }
    await world.stop()
  },
)

test('a call with hidden reasoning continues after its client leaves, and is charged as reported', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'hidden' })
  world.provider.play(steady({ thoughts: 100, words: 20, everyMs: 20 }))
  const reader = await talker.open('Think first.')
  await expect.poll(() => world.provider.requests.length, soon).toBe(1)
  reader.leave()
  await talker.settled()
  const { breakdown } = await onlyCharge(talker)
  expect(breakdown).toMatchObject({ completionTokens: 120, reasoningTokens: 100, isEstimated: false })
  expect(world.provider.requests[0]!.abortedAt).toBeNull()
  await world.stop()
})

test('deleting a session with hidden reasoning charges what the provider reports', async () => {
  const world = await startModels()
  const talker = await Talker.create(world.service, { agentId: 'hidden' })
  world.provider.play(steady({ thoughts: 60, words: 20, everyMs: 20 }))
  const reader = await talker.open('Think first.')
  await expect.poll(() => world.provider.requests.length, soon).toBe(1)
  const path = `/api/sessions/${talker.sessionId}`
  expect((await world.service.request('DELETE', path, { key: talker.key })).status).toBe(200)
  await reader.all()
  const { breakdown } = await onlyCharge(talker)
  expect(breakdown).toMatchObject({ completionTokens: 80, reasoningTokens: 60, isEstimated: false })
  await world.stop()
})

const stops = ofTier(100, 1000)
const together = 100

const paces: [agentId: string, pace: Pace & { thoughts: number }][] = [
  ['flat', { thoughts: 0, words: 120, everyMs: 10 }],
  ['hidden', { thoughts: 80, words: 40, everyMs: 10 }],
]

test.for(paces)(
  `leaving early never pays off: ${stops} random stops of the agent %s cost the operator under 5 percent`,
  { timeout: 240_000 },
  async ([agentId, pace]) => {
    const world = await startModels()
    const first = await Talker.create(world.service, { agentId, balanceUsd: '9999.0000' })
    const talkers = [first, ...(await Promise.all(Array.from({ length: together - 1 }, () => first.another(agentId))))]
    const bills = new Map<string, Bill>()
    world.provider.play(steady(pace, bills))
    const tokens = pace.words + pace.thoughts
    const chargesOf = new Map<Talker, number>()
    let billed = 0
    let charged = 0
    for (let round = 0; round < stops / together; round++) {
      const messages = talkers.map((_, n) => `${round}-${n}: ${'Tell me all that you know about the sea. '.repeat(20)}`)
      await Promise.all(
        talkers.map(async (talker, n) => {
          const reader = await talker.open(messages[n])
          await delay(Math.random() * tokens * pace.everyMs * 1.2)
          reader.leave()
        }),
      )
      // All talkers share an account, so one check is enough.
      await first.settled()
      await expect.poll(() => messages.every((message) => bills.get(message)?.isOver !== false), soon).toBe(true)
      for (const [n, talker] of talkers.entries()) {
        const bill = bills.get(messages[n]!)
        const charges = await talker.charges()
        // A chat stopped before its provider is called is free.
        const isCharged = charges.length > (chargesOf.get(talker) ?? 0)
        chargesOf.set(talker, charges.length)
        const cost = isCharged ? -unitsOf(charges[0].amountUsd) : 0
        expect(cost, messages[n]).toBeLessThanOrEqual((bill?.prompt ?? 0) + tokens)
        charged += cost
        billed += bill ? bill.prompt + bill.words + bill.thoughts : 0
      }
    }
    expect(billed - charged).toBeLessThan(billed * 0.05)
    await world.stop()
  },
)
