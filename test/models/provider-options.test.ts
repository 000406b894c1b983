import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { modelReply, modelRun } from '../../server/agents/model/model-agent.ts'
import { noConnectors } from '../../server/connectors/thread/run-connectors.ts'

const baseURL = 'http://provider.invalid/v1'
const agent = { kind: 'model', id: 'agent', name: 'Agent' } as const

/** Returns a provider that records the body of the request. */
function recorder(answer: () => Response) {
  const bodies: any[] = []
  const fetch = async (_: unknown, init?: RequestInit) => {
    bodies.push(JSON.parse(init?.body as string))
    return answer()
  }
  return { bodies, fetch: fetch as typeof globalThis.fetch }
}

test("the agent's provider options win over the request's", async () => {
  const choice = { index: 0, delta: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }
  const chunk = JSON.stringify({ id: 'chatcmpl-1', created: 1, model: 'llama', choices: [choice] })
  const { bodies, fetch } = recorder(
    () => new Response(`data: ${chunk}\n\ndata: [DONE]\n\n`, { headers: { 'Content-Type': 'text/event-stream' } }),
  )
  const model = createOpenAICompatible({ name: 'local', baseURL, fetch })('llama')
  const reply = modelReply({ ...agent, model, providerOptions: { local: { top_k: 1 } } })
  const parts = reply({
    message: 'Hello',
    history: [],
    params: { sampling: { extra: { top_k: 5, min_p: 0.1 } } },
    connectors: noConnectors,
    userId: 'user',
    sessionId: 'session',
    turnId: 'turn',
    signal: new AbortController().signal,
    log: () => {},
    openStep: async ({ outputTokensMax }) => ({ outputTokensMax, onEnd: () => {} }),
    isStopped: () => false,
    onModel: () => {},
    openCall: async () => {},
    modelCall: () => Promise.reject(new Error('not called')),
  })
  for await (const _ of parts);
  expect(bodies).toMatchObject([{ top_k: 1, min_p: 0.1 }])
})

test("a task's prompt is marked as cacheable, and its call has the provider options", async () => {
  const { bodies, fetch } = recorder(() =>
    Response.json({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-haiku-4-5',
      content: [{ type: 'text', text: 'Hi.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 5, output_tokens: 2 },
    }),
  )
  const model = createAnthropic({ apiKey: 'key', baseURL, fetch })('claude-haiku-4-5')
  const endpoint = { description: 'Greets.', priceUsd: '0.01', params: z.object({}), prompt: () => 'Hello' }
  const providerOptions = { anthropic: { metadata: { userId: 'house' } } }
  const run = modelRun({ ...agent, model, caching: true, providerOptions, endpoints: { greet: endpoint } }, 'greet')
  const answer = await run({
    params: {},
    connectors: noConnectors,
    userId: 'user',
    taskId: 'task',
    signal: new AbortController().signal,
    log: () => {},
    progress: () => {},
    charge: () => 0,
    resultBytesMax: 1000,
  })
  expect(answer).toEqual({ text: 'Hi.' })
  const [{ messages, metadata }] = bodies
  expect(messages[0].content[0]).toMatchObject({ text: 'Hello', cache_control: { type: 'ephemeral' } })
  expect(metadata).toEqual({ user_id: 'house' })
})
