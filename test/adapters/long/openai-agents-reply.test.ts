import { expect, test } from 'vitest'
import { z } from 'zod'
import { openaiAgentsReply } from '../../../server/agents/adapters/openai-agents-reply.ts'
import { expectOneEnd, textOf } from '../../chat/chat-checks.ts'
import { reply } from '../../support/model-provider.ts'
import { AdapterWorld, expectCutOff, key, testAdapter } from '../adapter-contract.ts'
import { loadFrameworks } from '../load-framework.ts'

async function load() {
  const load = await loadFrameworks()
  const sdk = await load('@openai/agents')
  sdk.setTracingDisabled(true)
  return sdk
}

/** A runner whose models call the provider, and the tool of its agents. */
function parts(sdk: any, url: string) {
  const modelProvider = new sdk.OpenAIProvider({ apiKey: key, baseURL: url, useResponses: false })
  const weather = sdk.tool({
    name: 'weather',
    description: 'The weather of a city.',
    parameters: z.object({ city: z.string() }),
    execute: ({ city }: { city: string }) => ({ city, celsius: 21 }),
  })
  return { modelProvider, runner: new sdk.Runner({ modelProvider, tracingDisabled: true }), weather }
}

testAdapter('OpenAI Agents SDK', async () => {
  const sdk = await load()
  return {
    open: (url) => {
      const { runner, weather } = parts(sdk, url)
      const agent = new sdk.Agent({ name: 'Assistant', instructions: 'Be brief.', model: 'stub-1', tools: [weather] })
      return openaiAgentsReply(agent, runner)
    },
    retries: true,
  }
})

test('an agent that hands the conversation to one with its own model object is metered throughout', async () => {
  const sdk = await load()
  const world = await AdapterWorld.start((url) => {
    const { runner } = parts(sdk, url)
    const model = new sdk.OpenAIProvider({ apiKey: key, baseURL: url, useResponses: false })
    const lazy = {
      getResponse: async (request: any) => (await model.getModel('stub-2')).getResponse(request),
      async *getStreamedResponse(request: any) {
        yield* (await model.getModel('stub-2')).getStreamedResponse(request)
      },
    }
    const math = new sdk.Agent({ name: 'Math', instructions: 'You know math.', model: lazy })
    const triage = sdk.Agent.create({ name: 'Triage', model: 'stub-1', handoffs: [math] })
    return openaiAgentsReply(triage, runner)
  })
  world.provider.play(
    reply({ calls: [{ id: 'call_a', name: 'transfer_to_Math', args: '{}' }] }),
    reply({ text: ['Four.'] }),
  )
  const events = await world.talker.chat('What is two and two?')
  expectOneEnd(events, 'done')
  expect(textOf(events)).toBe('Four.')
  expect(world.provider.bodies.map(({ model }) => model)).toEqual(['stub-1', 'stub-2'])
  expect((await world.charge()).breakdown).toMatchObject({ promptTokens: 200, completionTokens: 40, toolCalls: 1 })
  await world.stop()
})

test('the output type of an agent is the response of its task', async () => {
  const sdk = await load()
  const world = await AdapterWorld.start((url) => {
    const outputType = z.object({ celsius: z.number() })
    return openaiAgentsReply(new sdk.Agent({ name: 'Reader', model: 'stub-1', outputType }), parts(sdk, url).runner)
  })
  world.provider.play(reply({ text: ['{"celsius":', '21}'] }))
  const task = await world.task('How warm is it?', { endpoint: 'read' })
  expect(task).toMatchObject({ status: 'completed', response: { celsius: 21 }, tokens: { promptTokens: 100 } })
  expect(world.provider.bodies[0].response_format).toMatchObject({ type: 'json_schema' })
  await world.stop()
})

test.for([
  [undefined, 10],
  [{ maxTurns: 3 }, 3],
] as const)('a run with the options %o ends after %i turns, and costs its model calls', async ([options, turns]) => {
  const sdk = await load()
  const world = await AdapterWorld.start((url) => {
    const { runner, weather } = parts(sdk, url)
    const agent = new sdk.Agent({ name: 'Assistant', model: 'stub-1', tools: [weather] })
    return openaiAgentsReply(agent, runner, options)
  })
  await expectCutOff(world, turns)
  await world.stop()
})
