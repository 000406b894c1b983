import { createAnthropic } from '@ai-sdk/anthropic'
import { createDeepSeek } from '@ai-sdk/deepseek'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { expect, test } from 'vitest'
import type { ChatPart, ModelObject } from '../../server/agents/config/define-config.ts'
import { modelReply } from '../../server/agents/model/model-agent.ts'
import { noConnectors } from '../../server/connectors/thread/run-connectors.ts'

// Usage objects as documented by the providers, in streams of their format, read with the AI SDK's package for each.
// The classes of tokens must not overlap, whether or not a provider counts cached tokens as part of the prompt.

type Usage = Extract<ChatPart, { type: 'usage' }>
type Counts = Partial<Omit<Usage, 'type' | 'finishReason'>>
type Stream = { model: (fetch: typeof globalThis.fetch) => ModelObject; body: (usage: object | null) => string }

const apiKey = 'key'
const baseURL = 'http://provider.invalid/v1'
const events = (...data: object[]) => data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
const named = (...data: { type: string }[]) =>
  data.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('')

const chunk = (choices: object[], usage: object | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_767_225_600,
  model: 'model-1',
  choices,
  usage,
})
const completions = (usage: object | null) =>
  events(
    chunk([{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]),
    ...(usage ? [chunk([], usage)] : []),
  ) + 'data: [DONE]\n\n'

const providers = {
  openai: { model: (fetch) => createOpenAI({ apiKey, baseURL, fetch }).chat('gpt-5-mini'), body: completions },
  responses: {
    model: (fetch) => createOpenAI({ apiKey, baseURL, fetch }).responses('gpt-5-mini'),
    body: (usage) => {
      const response = { id: 'resp_1', created_at: 1_767_225_600, model: 'gpt-5-mini' }
      const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] }
      return named(
        { type: 'response.created', response } as { type: string },
        { type: 'response.output_item.added', output_index: 0, item } as { type: string },
        { type: 'response.output_text.delta', item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'Hello' } as {
          type: string
        },
        {
          type: 'response.output_item.done',
          output_index: 0,
          item: { ...item, status: 'completed', content: [{ type: 'output_text', text: 'Hello', annotations: [] }] },
        } as { type: string },
        { type: 'response.completed', response: { ...response, usage } } as { type: string },
      )
    },
  },
  anthropic: {
    model: (fetch) => createAnthropic({ apiKey, baseURL, fetch })('claude-haiku-4-5'),
    body: (usage) => {
      const { output_tokens: output, ...input } = (usage ?? {}) as { output_tokens?: number }
      const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-haiku-4-5', content: [] }
      return named(
        { type: 'message_start', message: { ...message, usage: { ...input, output_tokens: 1 } } } as { type: string },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } } as { type: string },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } } as { type: string },
        { type: 'content_block_stop', index: 0 } as { type: string },
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: output },
        } as { type: string },
        { type: 'message_stop' },
      )
    },
  },
  google: {
    model: (fetch) => createGoogleGenerativeAI({ apiKey, baseURL, fetch })('gemini-2.5-flash'),
    body: (usageMetadata) =>
      events({
        candidates: [{ content: { role: 'model', parts: [{ text: 'Hello' }] }, finishReason: 'STOP', index: 0 }],
        ...(usageMetadata && { usageMetadata }),
      }),
  },
  deepseek: { model: (fetch) => createDeepSeek({ apiKey, baseURL, fetch })('deepseek-chat'), body: completions },
  compatible: {
    model: (fetch) => createOpenAICompatible({ name: 'local', baseURL, fetch, includeUsage: true })('llama-3.1-8b'),
    body: completions,
  },
} satisfies Record<string, Stream>

const rows: [what: string, provider: keyof typeof providers, usage: object | null, counts: Counts][] = [
  [
    'OpenAI chat',
    'openai',
    {
      prompt_tokens: 19,
      completion_tokens: 10,
      total_tokens: 29,
      prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0 },
    },
    { promptTokens: 19, completionTokens: 10 },
  ],
  [
    'OpenAI chat with cached tokens inside of the prompt, and reasoning inside of the output',
    'openai',
    {
      prompt_tokens: 2006,
      completion_tokens: 1186,
      total_tokens: 3192,
      prompt_tokens_details: { cached_tokens: 1920 },
      completion_tokens_details: { reasoning_tokens: 1024 },
    },
    { promptTokens: 2006, cachedPromptTokens: 1920, completionTokens: 1186, reasoningTokens: 1024 },
  ],
  [
    'OpenAI responses with cached tokens and reasoning',
    'responses',
    {
      input_tokens: 2075,
      input_tokens_details: { cached_tokens: 1920 },
      output_tokens: 1186,
      output_tokens_details: { reasoning_tokens: 1024 },
      total_tokens: 3261,
    },
    { promptTokens: 2075, cachedPromptTokens: 1920, completionTokens: 1186, reasoningTokens: 1024 },
  ],
  ['Anthropic', 'anthropic', { input_tokens: 25, output_tokens: 15 }, { promptTokens: 25, completionTokens: 15 }],
  [
    'Anthropic with cache reads and writes beside the input, of both lifetimes',
    'anthropic',
    {
      input_tokens: 2048,
      cache_read_input_tokens: 1800,
      cache_creation_input_tokens: 248,
      cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
      output_tokens: 503,
    },
    {
      promptTokens: 2048 + 1800 + 248,
      cachedPromptTokens: 1800,
      cacheWriteTokens: 248,
      cacheWrite1hTokens: 100,
      completionTokens: 503,
    },
  ],
  [
    'Anthropic with cache writes of unknown lifetime',
    'anthropic',
    { input_tokens: 10, cache_read_input_tokens: 0, cache_creation_input_tokens: 2000, output_tokens: 5 },
    { promptTokens: 2010, cacheWriteTokens: 2000, completionTokens: 5 },
  ],
  [
    'Google with cached tokens inside of the prompt, and thoughts beside the candidates',
    'google',
    {
      promptTokenCount: 1200,
      cachedContentTokenCount: 1024,
      candidatesTokenCount: 60,
      thoughtsTokenCount: 140,
      totalTokenCount: 1400,
    },
    { promptTokens: 1200, cachedPromptTokens: 1024, completionTokens: 200, reasoningTokens: 140 },
  ],
  [
    'DeepSeek with cache hits and misses',
    'deepseek',
    {
      prompt_tokens: 1000,
      completion_tokens: 300,
      total_tokens: 1300,
      prompt_cache_hit_tokens: 896,
      prompt_cache_miss_tokens: 104,
      completion_tokens_details: { reasoning_tokens: 200 },
    },
    { promptTokens: 1000, cachedPromptTokens: 896, completionTokens: 300, reasoningTokens: 200 },
  ],
  [
    'a local server without details',
    'compatible',
    { prompt_tokens: 26, completion_tokens: 298, total_tokens: 324 },
    { promptTokens: 26, completionTokens: 298 },
  ],
  [
    'a local server with more reasoning than output',
    'compatible',
    { prompt_tokens: 26, completion_tokens: 10, total_tokens: 36, completion_tokens_details: { reasoning_tokens: 12 } },
    { promptTokens: 26, completionTokens: 10, reasoningTokens: 10 },
  ],
  [
    'a local server with more cached tokens than prompt',
    'compatible',
    { prompt_tokens: 26, completion_tokens: 10, total_tokens: 36, prompt_tokens_details: { cached_tokens: 30 } },
    { promptTokens: 26, cachedPromptTokens: 26, completionTokens: 10 },
  ],
  ['a local server without usage', 'compatible', null, { completionTokens: 1, isEstimated: true }],
  [
    'a local server that reports zeros',
    'compatible',
    { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
    { completionTokens: 1, isEstimated: true },
  ],
]

const none = {
  cachedPromptTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  reasoningTokens: 0,
  isEstimated: false,
}

test.each(rows)('%s', async (_, provider, usage, counts) => {
  const { body, model } = providers[provider]
  const fetch = async () => new Response(body(usage), { headers: { 'Content-Type': 'text/event-stream' } })
  const reported: Usage[] = []
  const reply = modelReply({ kind: 'model', id: 'agent', name: 'Agent', model: model(fetch) })
  const parts = reply({
    message: 'Hello',
    history: [],
    params: {},
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
  for await (const part of parts) if (part.type === 'usage') reported.push(part)
  expect(reported).toHaveLength(1)
  expect(reported[0]).toMatchObject({ type: 'usage', ...none, ...counts })
})
