import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  createClient,
  type ChatAgentId,
  type EndedTask,
  type EndpointId,
  type EndpointParams,
  type EndpointResponse,
  type ErrandClient,
} from '../../client/client.ts'
import {
  defineAgent,
  defineConfig,
  defineEndpoint,
  type ErrandConfig,
  type ModelAgentConfig,
  type ModelObject,
} from '../../server/agents/config/define-config.ts'
import type { useTask } from '../../client/react/use-task.ts'
import type { startTestErrand } from '../../server/testing/testing.ts'

// Like client-types.test.ts, checked by the compiler.

declare const model: ModelObject
const pricing = { inputPerMillionUsd: '1', outputPerMillionUsd: '4' }
const fields = { description: 'Does something.', priceUsd: '0.0100' }
type AnyObject = Record<string, unknown>

function createConfig() {
  const summarize = defineEndpoint({
    ...fields,
    params: z.object({ text: z.string(), sentences: z.number().default(3) }),
    output: z.object({ summary: z.string(), writtenAt: z.date() }),
    run: ({ params }) => ({ summary: params.text satisfies string, writtenAt: new Date() }),
  })
  const writer = defineAgent({
    kind: 'model',
    id: 'writer',
    name: 'Writer',
    model,
    pricing,
    endpoints: {
      draft: { ...fields, params: z.object({ topic: z.string() }), prompt: ({ topic }: { topic: string }) => topic },
      count: { ...fields, params: {}, prompt: () => 'Count.', output: z.object({ words: z.array(z.number()) }) },
    },
  })
  return defineConfig({
    agents: [
      {
        kind: 'code',
        id: 'text',
        name: 'Text',
        endpoints: {
          summarize,
          json: { ...fields, params: {}, output: {}, run: () => ({}) },
          adapted: { ...fields, params: {}, prompt: () => 'Hello', async *reply() {} },
        },
      },
      writer,
      { kind: 'code', id: 'clock', name: 'Clock', chat: { pricing, async *reply() {} } },
      { kind: 'code', id: 'empty', name: 'Empty' },
    ],
  })
}
type Config = ReturnType<typeof createConfig>

test('the type of a configuration contains ids, params and responses', () => {
  expectTypeOf<EndpointId<Config>>().toEqualTypeOf<
    'text.summarize' | 'text.json' | 'text.adapted' | 'writer.draft' | 'writer.count'
  >()
  expectTypeOf<ChatAgentId<Config>>().toEqualTypeOf<'writer' | 'clock'>()
  expectTypeOf<EndpointParams<'text.summarize', Config>>().toEqualTypeOf<{
    text: string
    sentences?: number | undefined
  }>()
  expectTypeOf<EndpointParams<'text.json', Config>>().toEqualTypeOf<AnyObject>()
  expectTypeOf<EndpointResponse<'text.summarize', Config>>().toEqualTypeOf<{ summary: string; writtenAt: string }>()
  expectTypeOf<EndpointResponse<'text.json', Config>>().toEqualTypeOf<AnyObject>()
  expectTypeOf<EndpointResponse<'text.adapted', Config>>().toEqualTypeOf<{ text: string }>()
  expectTypeOf<EndpointResponse<'writer.draft', Config>>().toEqualTypeOf<{ text: string }>()
  expectTypeOf<EndpointResponse<'writer.count', Config>>().toEqualTypeOf<{ words: number[] }>()
})

test('a typed client accepts only endpoints, params and chat agents of the configuration', () => {
  const client = createClient<Config>({ baseUrl: 'http://127.0.0.1', apiKey: 'key' })
  const never = async () => {
    const task = await client.tasks.run({ endpointId: 'text.summarize', params: { text: '' } })
    expectTypeOf(task.endpointId).toEqualTypeOf<'text.summarize'>()
    expectTypeOf(task.response).toEqualTypeOf<{ summary: string; writtenAt: string } | string | null>()
    const own = client.asUser('one')
    await own.tasks.create({ endpointId: 'writer.draft', params: { topic: '' }, maxCostUsd: '1' })
    await own.quotes.create({ task: { endpointId: 'writer.draft', params: { topic: '' } } })
    await own.quotes.create({ chat: { sessionId: '', message: '' } })
    await own.sessions.create({ agentId: 'writer' })
    await own.sessions.getOrCreate({ agentId: 'clock', externalId: '' })
    const either = '' as 'text.summarize' | 'text.json'
    expectTypeOf((await client.tasks.run({ endpointId: either, params: { text: '' } })).endpointId).toEqualTypeOf(
      either,
    )

    // @ts-expect-error The endpoint is misspelt.
    await client.tasks.run({ endpointId: 'text.summarise', params: { text: '' } })
    // @ts-expect-error The text is missing.
    await own.tasks.create({ endpointId: 'text.summarize', params: {} })
    // @ts-expect-error The text is not a string.
    await own.tasks.create({ endpointId: 'text.summarize', params: { text: 1 } })
    // @ts-expect-error These are the params of another endpoint.
    await own.tasks.create({ endpointId: 'writer.draft', params: { text: '' } })
    // @ts-expect-error There is no such param.
    await own.tasks.create({ endpointId: 'writer.draft', params: { topic: '', length: 1 } })
    // @ts-expect-error The endpoint is misspelt.
    await own.quotes.create({ task: { endpointId: 'writer.drafts', params: { topic: '' } } })
    // @ts-expect-error The topic is missing.
    await own.quotes.create({ task: { endpointId: 'writer.draft', params: {} } })
    // @ts-expect-error The agent does not chat.
    await own.sessions.create({ agentId: 'text' })
    // @ts-expect-error The agent is misspelt.
    await own.sessions.getOrCreate({ agentId: 'clocks', externalId: '' })
    // @ts-expect-error This is not a configuration.
    createClient<Config['agents'][0]>({ baseUrl: '', apiKey: '' })
  }
  expectTypeOf(never).toBeFunction()
  expectTypeOf(client).toExtend<ErrandClient>()
  expectTypeOf<ErrandClient>().toExtend<ErrandClient<Config>>()
})

test('without a configuration, and for agents of unknown id, any string is an endpoint', () => {
  type Mixed = { readonly agents: readonly [Config['agents'][1], ModelAgentConfig] }
  expectTypeOf<EndpointId>().toBeString()
  expectTypeOf<EndpointId<ErrandConfig>>().toBeString()
  expectTypeOf<EndpointId<Mixed>>().toBeString()
  expectTypeOf<ChatAgentId>().toBeString()
  expectTypeOf<ChatAgentId<Mixed>>().toBeString()
  expectTypeOf<EndpointParams<'writer.draft', Mixed>>().toEqualTypeOf<{ topic: string }>()
  expectTypeOf<EndpointParams<'other.draft', Mixed>>().toEqualTypeOf<AnyObject>()
  expectTypeOf<EndpointParams<'other.draft'>>().toEqualTypeOf<AnyObject>()
  const never = async (client: ErrandClient) => {
    expectTypeOf(await client.tasks.run({ endpointId: String(1), params: { a: 1 } })).toEqualTypeOf<EndedTask>()
  }
  expectTypeOf(never).toBeFunction()
  expectTypeOf<EndpointId<{ readonly agents: readonly [] }>>().toBeNever()
})

test('a configuration with an unknown field or a wrong value does not compile', () => {
  const never = (start: typeof startTestErrand) => {
    const endpoint = { ...fields, params: {}, run: () => ({}) }
    const agent = { kind: 'code', id: 'a', name: 'A' } as const
    // @ts-expect-error There is no such field.
    defineConfig({ agents: [], planz: {} })
    // @ts-expect-error There is no such field.
    defineConfig({ agents: [{ kind: 'code', id: 'a', name: 'A', endpointz: {} }] })
    // @ts-expect-error There is no such field.
    defineAgent({ kind: 'code', id: 'a', name: 'A', endpoints: { b: { ...endpoint, priceEur: '1' } } })
    // @ts-expect-error There is no such kind.
    defineConfig({ agents: [{ kind: 'cod', id: 'a', name: 'A' }] })
    // @ts-expect-error The agents are missing.
    defineConfig({})
    // @ts-expect-error There is no such field.
    void start({ config: { agents: [], planz: {} } })
    // @ts-expect-error The summary is missing.
    defineEndpoint({ ...fields, params: {}, output: z.object({ summary: z.string() }), run: () => ({}) })
    return [defineConfig({ agents: [agent] }), start({ config: { agents: [agent] } })] as const
  }
  expectTypeOf(never).toBeFunction()
})

test('the React hook correlates endpoint, params and response', () => {
  const never = ({ run, task }: ReturnType<typeof useTask<Config>>) => {
    run({ endpointId: 'text.summarize', params: { text: '' } })
    if (task?.endpointId === 'text.summarize')
      expectTypeOf(task.response).toEqualTypeOf<{ summary: string; writtenAt: string } | string | null>()
    // @ts-expect-error These are the params of another endpoint.
    run({ endpointId: 'text.summarize', params: { topic: '' } })
  }
  expectTypeOf(never).toBeFunction()
  expectTypeOf<ReturnType<typeof useTask>['task']>().toEqualTypeOf<EndedTask | undefined>()
})
