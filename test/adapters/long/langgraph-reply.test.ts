import { expect, test } from 'vitest'
import { z } from 'zod'
import { langGraphReply } from '../../../server/agents/adapters/langgraph-reply.ts'
import { expectOneEnd, textOf, unitsOf } from '../../chat/chat-checks.ts'
import { endless, reply } from '../../support/model-provider.ts'
import { AdapterWorld, expectCutOff, key, outputTokensMax, testAdapter } from '../adapter-contract.ts'
import { loadFrameworks } from '../load-framework.ts'

let responses = 0

/** Gives each response an id of its own, as providers do: a graph replaces a message by one with the same id. */
async function fetchWithIds(...request: Parameters<typeof fetch>): Promise<Response> {
  const { body, headers, status } = await fetch(...request)
  const id = `chatcmpl-${++responses}-`
  const named = body!.pipeThrough(new TextDecoderStream()).pipeThrough(
    new TransformStream<string, string>({
      transform: (text, controller) => controller.enqueue(text.replaceAll('chatcmpl-1', id)),
    }),
  )
  return new Response(named.pipeThrough(new TextEncoderStream()), { status, headers })
}

async function load() {
  const load = await loadFrameworks()
  const { ChatOpenAI } = await load('@langchain/openai')
  const { tool } = await load('@langchain/core/tools')
  const { createAgent } = await load('langchain')
  const graphs = await load('@langchain/langgraph')
  const modelAt = (url: string, more: object = {}) =>
    new ChatOpenAI({
      model: 'stub-1',
      apiKey: key,
      maxTokens: outputTokensMax,
      configuration: { baseURL: url, fetch: fetchWithIds },
      ...more,
    })
  const weather = tool(({ city }: { city: string }) => ({ city, celsius: 21 }), {
    name: 'weather',
    description: 'The weather of a city.',
    schema: z.object({ city: z.string() }),
  })
  return { createAgent, graphs, modelAt, weather }
}

testAdapter('LangGraph', async () => {
  const { createAgent, modelAt, weather } = await load()
  return {
    open: (url) =>
      langGraphReply(createAgent({ model: modelAt(url), tools: [weather], systemPrompt: 'Be brief.' }).graph),
    retries: true,
  }
})

test('LangGraph: models of parallel nodes are each held, and their usage adds up', async () => {
  const { graphs, modelAt } = await load()
  const { END, MessagesAnnotation, START, StateGraph } = graphs
  const world = await AdapterWorld.start((url) => {
    const ask = async ({ messages }: any) => ({ messages: [await modelAt(url).invoke(messages)] })
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('left', ask)
      .addNode('right', ask)
      .addEdge(START, 'left')
      .addEdge(START, 'right')
      .addEdge('left', END)
      .addEdge('right', END)
      .compile()
    return langGraphReply(graph)
  })
  const held: number[] = []
  world.provider.play(async (response, request) => {
    held.push(unitsOf((await world.talker.account()).heldUsd))
    await expect.poll(() => held.length).toBe(2)
    await reply({ text: ['Half.'], usage: { prompt_tokens: 30, completion_tokens: 4 } })(response, request)
  })
  const events = await world.talker.chat('Hello')
  expect(textOf(events)).toBe('Half.Half.')
  expect(Math.max(...held)).toBeGreaterThanOrEqual(2 * outputTokensMax)
  expect((await world.charge()).breakdown).toMatchObject({ promptTokens: 60, completionTokens: 8, isEstimated: false })
  await world.stop()
})

test('LangGraph: a model that has no limit of its own is broken off at the limit of the chat', async () => {
  const { createAgent, modelAt } = await load()
  const world = await AdapterWorld.start((url) =>
    langGraphReply(createAgent({ model: modelAt(url, { maxTokens: undefined }), tools: [] }).graph),
  )
  world.provider.play(endless('word ', 1))
  const end = expectOneEnd(await world.talker.chat('Hello'), 'done')
  expect(end.finishReason).toBe('length')
  const { breakdown } = await world.charge()
  expect(breakdown.completionTokens).toBeGreaterThan(outputTokensMax / 2)
  expect(breakdown.completionTokens).toBeLessThanOrEqual(outputTokensMax)
  await world.stop()
})

test('LangGraph: a graph that reaches its recursion limit ends the reply, which costs its model calls', async () => {
  const { createAgent, modelAt, weather } = await load()
  const world = await AdapterWorld.start((url) =>
    langGraphReply(createAgent({ model: modelAt(url), tools: [weather] }).graph, { config: { recursionLimit: 3 } }),
  )
  await expectCutOff(world, 2)
  await world.stop()
})
