import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import type { ChatPart, ChatRun, ErrandConfig } from '../../server/agents/config/define-config.ts'
import { expectOneEnd, priceOf, soon, Talker, textOf, unitsOf } from '../chat/chat-checks.ts'
import { endless, eventText, ModelProvider, plainChunk, refuse, reply, replyThen } from '../support/model-provider.ts'
import { startService } from '../support/test-service.ts'

export type Reply = (run: ChatRun) => AsyncIterable<ChatPart>

/** A token costs 0.0001 USD, a tool call 0.0010 USD. */
const pricing = { inputPerMillionUsd: '100', outputPerMillionUsd: '100', toolCallUsd: '0.0010' }
export const outputTokensMax = 200
export const key = 'sk-test-adapters'

/** Replies of a session with a framework's agent, whose models call the provider. */
export class AdapterWorld {
  readonly provider: ModelProvider
  readonly talker: Talker
  readonly #stop: () => Promise<void>

  private constructor(provider: ModelProvider, talker: Talker, stop: () => Promise<void>) {
    this.provider = provider
    this.talker = talker
    this.#stop = stop
  }

  static async start(open: (url: string) => Reply, { balanceUsd = '10.0000' } = {}): Promise<AdapterWorld> {
    const provider = await ModelProvider.start()
    const of = { maxOutputTokens: outputTokensMax, reply: open(`${provider.url}/v1`) }
    const chat = { ...of, pricing, reasoning: true }
    const endpoint = {
      ...of,
      description: 'Answers a question.',
      pricing: { tokens: pricing, maxUsd: '5.0000' },
      params: z.object({ question: z.string() }),
      prompt: ({ question }: { question: string }) => question,
    }
    const endpoints = { ask: endpoint, read: { ...endpoint, output: z.object({ celsius: z.number() }) } }
    const config: ErrandConfig = { agents: [{ kind: 'code', id: 'adapted', name: 'Adapted', chat, endpoints }] }
    const service = await startService({ config, limits: { executionsPerMinute: 0, abuseFailures: 0 } })
    const talker = await Talker.create(service, { agentId: 'adapted', balanceUsd })
    return new AdapterWorld(provider, talker, async () => {
      await service.stop()
      await provider.stop()
    })
  }

  /** Returns the charge of the only turn, which must match its receipt. The ledger must balance. */
  async charge(): Promise<any> {
    await this.talker.settled()
    const [charge, ...more] = await this.talker.charges()
    expect(more).toEqual([])
    expect(-unitsOf(charge.amountUsd)).toBe(priceOf(charge.breakdown))
    await this.sound()
    return charge
  }

  /** Runs a task of the agent to its end. The ledger must balance. */
  async task(question: string, { endpoint = 'ask', ...more }: { endpoint?: string; maxCostUsd?: string } = {}) {
    const { key, service } = this.talker
    const body = { endpointId: `adapted.${endpoint}`, params: { question }, ...more }
    const { body: created, status } = await service.post('/api/tasks', body, { key })
    expect(status, JSON.stringify(created)).toBe(200)
    const { body: task } = await service.get(`/api/tasks/${created.taskId}?wait=20`, key)
    await this.sound()
    return task
  }

  async sound(): Promise<void> {
    await this.talker.settled()
    expect(await this.talker.service.app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  }

  stop(): Promise<void> {
    return this.#stop()
  }
}

export const weather = (id: string, city: string) => ({ id, name: 'weather', args: [`{"ci`, `ty":"${city}"}`] })
const usageOf = (prompt: number, completion: number) => ({ prompt_tokens: prompt, completion_tokens: completion })

/** Expects a reply of a model that never stops to end after this number of calls, which are charged. */
export async function expectCutOff(world: AdapterWorld, calls: number): Promise<void> {
  let made = 0
  world.provider.play((response, request) =>
    reply({ calls: [weather(`call_${++made}`, 'Paris')], usage: usageOf(100, 20) })(response, request),
  )
  const end = expectOneEnd(await world.talker.chat('Hello'), 'done')
  expect([made, end.finishReason]).toEqual([calls, 'length'])
  const { breakdown } = await world.charge()
  expect(breakdown).toMatchObject({ promptTokens: calls * 100, completionTokens: calls * 20, isEstimated: false })
}

type Adapter = {
  /** Returns the reply of an agent with the tool `weather`, which returns `{ city, celsius: 21 }`. */
  open: (url: string) => Reply
  /** Whether the framework itself repeats a request that the provider rejects with 503. */
  retries: boolean
}

/** Tests what every adapter guarantees, with the framework's real package. */
export function testAdapter(name: string, prepare: () => Promise<Adapter>): void {
  let adapter: Adapter
  beforeAll(async () => {
    adapter = await prepare()
  }, 900_000)
  const start = (options?: { balanceUsd?: string }) => AdapterWorld.start((url) => adapter.open(url), options)
  // The last world is stopped even if its test failed.
  let world: AdapterWorld | undefined
  afterAll(() => world?.stop())
  const within = async (run: (world: AdapterWorld) => Promise<void>, options?: { balanceUsd?: string }) => {
    world = await start(options)
    await run(world)
    await world.stop()
    world = undefined
  }

  test(`${name}: shows text and tools in order, holds each model call before it starts, and charges its usage`, () =>
    within(async ({ provider, talker }) => {
      const held: number[] = []
      const noted =
        (script: ReturnType<typeof reply>): typeof script =>
        async (response, request) => {
          const spent = held.length === 0 ? 0 : 57
          held.push(unitsOf((await talker.account()).heldUsd) - spent)
          await script(response, request)
        }
      provider.play(
        noted(reply({ text: ['I ', 'look. '], calls: [weather('call_a', 'Paris')], usage: usageOf(50, 7) })),
        noted(reply({ text: ['It is ', '21 °C.'], usage: usageOf(90, 8) })),
      )
      const events = await talker.chat('How is the weather in Paris?')
      const end = expectOneEnd(events, 'done')
      expect(textOf(events)).toBe('I look. It is 21 °C.')
      const shown = events.filter(({ type }) => type.startsWith('tool_'))
      expect(shown).toMatchObject([
        { toolCall: { name: 'weather', arguments: { city: 'Paris' } } },
        { toolResult: { id: shown[0].toolCall.id } },
      ])
      expect(JSON.stringify(shown[1].toolResult.output)).toContain('21')
      const order = events.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1])
      expect(order).toEqual(['assistant_delta', 'tool_call', 'tool_result', 'assistant_delta', 'done'])
      expect(end.usage).toMatchObject({ promptTokens: 140, completionTokens: 15, toolCalls: 1 })
      expect(end.costUsd).toBe('0.0165')
      // Each hold covers at least the output limit that the request names.
      expect(held).toHaveLength(2)
      for (const [at, units] of held.entries()) {
        const { max_completion_tokens: limit, max_tokens: most = limit } = provider.bodies[at]
        expect(most).toBe(outputTokensMax)
        expect(units).toBeGreaterThanOrEqual(most)
      }
      const charge = await talker.charges()
      expect(charge).toMatchObject([{ breakdown: { isEstimated: false } }])
    }))

  test(`${name}: runs tools in parallel, with the price of each one held`, () =>
    within(async (of) => {
      of.provider.play(
        reply({ calls: [weather('call_a', 'Paris'), weather('call_b', 'Rome')], usage: usageOf(50, 20) }),
        reply({ text: ['Warm.'], usage: usageOf(90, 2) }),
      )
      const events = await of.talker.chat('Compare Paris and Rome.')
      expectOneEnd(events, 'done')
      const called = events.filter(({ type }) => type === 'tool_call').map(({ toolCall }) => toolCall)
      expect(called.map(({ arguments: args }) => args)).toEqual([{ city: 'Paris' }, { city: 'Rome' }])
      const answered = events.filter(({ type }) => type === 'tool_result').map(({ toolResult }) => toolResult.id)
      expect(answered.toSorted()).toEqual(called.map(({ id }) => id).toSorted())
      expect((await of.charge()).breakdown).toMatchObject({ promptTokens: 140, completionTokens: 22, toolCalls: 2 })
    }))

  test(`${name}: passes the conversation on`, () =>
    within(async ({ provider, talker }) => {
      provider.play(reply({ text: ['One.'] }), reply({ text: ['Two.'] }))
      await talker.chat('First')
      expectOneEnd(await talker.chat('Second'), 'done')
      const sent = JSON.stringify(provider.bodies[1].messages)
      for (const text of ['First', 'One.', 'Second']) expect(sent).toContain(text)
    }))

  test(`${name}: a repeated request is a call of its own, and a rejected one is free`, () =>
    within(async (of) => {
      of.provider.play(refuse(503, 'Overloaded.'), reply({ text: ['Ready.'], usage: usageOf(40, 3) }))
      const events = await of.talker.chat('Hello')
      if (!adapter.retries) {
        expect(expectOneEnd(events, 'error')).toMatchObject({ error: { code: 'AGENT_ERROR' }, costUsd: '0.0000' })
        await of.sound()
        return
      }
      expectOneEnd(events, 'done')
      expect(of.provider.requests).toHaveLength(2)
      expect((await of.charge()).breakdown).toMatchObject({ promptTokens: 40, completionTokens: 3, isEstimated: false })
    }))

  test(`${name}: counts the tokens of a provider that reports no usage`, () =>
    within(async (of) => {
      of.provider.play(reply({ text: ['One two three ', 'four five.'], usage: null }))
      expectOneEnd(await of.talker.chat('Hello'), 'done')
      const { breakdown } = await of.charge()
      expect(breakdown).toMatchObject({ completionTokens: 6, isEstimated: true })
      expect(breakdown.promptTokens).toBeGreaterThan(5)
    }))

  test(`${name}: usage that is reported twice is charged once`, () =>
    within(async (of) => {
      const last = { ...plainChunk({}), choices: [], usage: usageOf(40, 5) }
      of.provider.play(
        replyThen({ text: ['Well.'] }, (response) => {
          const finish = { ...plainChunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }
          response.end([finish, last, last].map(eventText).join('') + 'data: [DONE]\n\n')
        }),
      )
      expectOneEnd(await of.talker.chat('Hello'), 'done')
      expect((await of.charge()).breakdown).toMatchObject({ promptTokens: 40, completionTokens: 5 })
    }))

  test(`${name}: a provider that fails in mid-stream fails the turn, which is free`, () =>
    within(async (of) => {
      of.provider.play(replyThen({ text: ['One ', 'two '] }, (response) => void response.destroy()))
      const events = await of.talker.chat('Hello')
      const end = expectOneEnd(events, 'error')
      expect(end).toMatchObject({ error: { code: 'AGENT_ERROR' }, costUsd: '0.0000' })
      expect(JSON.stringify(events)).not.toContain(key)
      await of.sound()
    }))

  test(`${name}: text that is no string neither breaks the service nor its ledger`, () =>
    within(async (of) => {
      of.provider.play(replyThen({}, (response) => void response.end(eventText(plainChunk({ content: { a: 1 } })))))
      const events = await of.talker.chat('Hello')
      expect(events.at(-1).type).toMatch(/^(done|error)$/)
      await of.sound()
    }))

  test(`${name}: a reply that the client leaves stops the model, and costs what it generated`, () =>
    within(async (of) => {
      of.provider.play(endless('word '))
      const reader = await of.talker.open('Hello')
      await reader.until('assistant_delta')
      reader.leave()
      await expect.poll(() => of.provider.requests[0]?.abortedAt ?? null, soon).not.toBeNull()
      const { breakdown } = await of.charge()
      expect(breakdown.isEstimated).toBe(true)
      expect(breakdown.completionTokens).toBeGreaterThan(0)
      expect(of.provider.requests).toHaveLength(1)
    }))

  test(`${name}: the cap of the session stops an agent that would never stop`, () =>
    within(async (of) => {
      const path = `/api/sessions/${of.talker.sessionId}`
      const { service } = of.talker
      await service.request('PATCH', path, { key: of.talker.key, body: { maxCostUsd: '0.1200' } })
      let calls = 0
      of.provider.play((response, request) =>
        reply({ calls: [weather(`call_${++calls}`, 'Paris')], usage: usageOf(100, 20) })(response, request),
      )
      const end = expectOneEnd(await of.talker.chat('Hello'), 'error')
      expect(end.error.code).toBe('BUDGET_REACHED')
      expect(unitsOf(end.costUsd)).toBeLessThanOrEqual(1200)
      const { breakdown } = await of.charge()
      // The price of a tool may end the last call, whose tokens are then counted.
      expect(breakdown.promptTokens).toBeGreaterThanOrEqual((calls - 1) * 100)
      expect(calls).toBeGreaterThanOrEqual(2)
    }))

  test(`${name}: a task returns the agent's last text, charges its usage and reports its steps`, () =>
    within(async (of) => {
      of.provider.play(
        reply({ text: ['I ', 'look. '], calls: [weather('call_a', 'Paris')], usage: usageOf(50, 7) }),
        reply({ text: ['It is ', '21 °C.'], usage: usageOf(90, 8) }),
      )
      const task = await of.task('How is the weather in Paris?')
      expect(task).toMatchObject({
        status: 'completed',
        response: { text: 'It is 21 °C.' },
        costUsd: '0.0165',
        tokens: { promptTokens: 140, completionTokens: 15, toolCalls: 1, isEstimated: false },
        progress: { message: 'Step 2', data: { step: 2, toolCalls: [] } },
      })
      expect(JSON.stringify(of.provider.bodies[0].messages)).toContain('How is the weather in Paris?')
      for (const { max_completion_tokens: limit, max_tokens: most = limit } of of.provider.bodies)
        expect(most).toBe(outputTokensMax)
      of.provider.play(reply({ text: ['{"celsius":', '21}'] }))
      expect(await of.task('Read it.', { endpoint: 'read' })).toMatchObject({ response: { celsius: 21 } })
    }))

  test(`${name}: the maximum cost of a task stops an agent that would never stop`, () =>
    within(async (of) => {
      let calls = 0
      of.provider.play((response, request) =>
        reply({ text: [`Call ${++calls}. `], calls: [weather(`call_${calls}`, 'Paris')], usage: usageOf(100, 20) })(
          response,
          request,
        ),
      )
      const task = await of.task('Hello', { maxCostUsd: '0.1200' })
      expect(task).toMatchObject({ status: 'completed', response: { reachedMaxCost: true } })
      expect(task.response.text).toMatch(/^Call 1\. /)
      expect(unitsOf(task.costUsd)).toBeLessThanOrEqual(1200)
      expect(task.tokens.promptTokens).toBeGreaterThanOrEqual((calls - 1) * 100)
      expect(calls).toBeGreaterThanOrEqual(2)
    }))

  test(`${name}: canceling a task stops the model`, () =>
    within(async (of) => {
      of.provider.play(endless('word '))
      const { key, service } = of.talker
      const { taskId } = (await service.createTask(key, 'adapted.ask', { question: 'Hello' })).body
      await expect.poll(() => of.provider.requests.length, soon).toBe(1)
      const { body } = await service.post(`/api/tasks/${taskId}/cancel`, undefined, { key })
      expect(body).toMatchObject({ status: 'failed', error: { code: 'CANCELED' } })
      await expect.poll(() => of.provider.requests[0]?.abortedAt ?? null, soon).not.toBeNull()
      expect((await of.talker.account()).balanceUsd).toBe('10.0000')
      await of.sound()
    }))

  test(`${name}: without balance for the model call no request is sent`, () =>
    within(
      async (of) => {
        of.provider.play(reply({ text: ['Never.'] }))
        const long = 'many words '.repeat(60)
        const events = await of.talker.open(long).then((reader) => (reader.status === 200 ? reader.all() : []))
        expect(textOf(events)).toBe('')
        expect(of.provider.requests).toEqual([])
        await of.sound()
      },
      { balanceUsd: '0.0100' },
    ))
}
