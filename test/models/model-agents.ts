import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { tool } from 'ai'
import { z } from 'zod'
import {
  costPlus,
  defineConfig,
  type ErrandConfig,
  type ModelAgentConfig,
} from '../../server/agents/config/define-config.ts'

// Suppresses the warning about missing schema support, which every task would print.
globalThis.AI_SDK_LOG_WARNINGS = false

/** A key that must not appear in any response of the service. */
export const secretKey = 'sk-proj-Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg'

/** Rates with enough digits to require rounding. */
export const modelPricing = {
  inputPer1kUsd: '0.150005',
  cachedInputPer1kUsd: '0.015003',
  outputPer1kUsd: '0.6',
  reasoningPer1kUsd: '0.900001',
  toolCallUsd: '0.001255',
} as const

const cachedCost = {
  inputPerMillionUsd: '500',
  outputPerMillionUsd: '2500',
  cacheReadPerMillionUsd: '50',
  cacheWritePerMillionUsd: '625',
  cacheWrite1hPerMillionUsd: '1000',
}
export const fallbackPricing = { inputPerMillionUsd: '300', outputPerMillionUsd: '900' }
const tokenPricing = { tokens: { inputPerMillionUsd: '100', outputPerMillionUsd: '200' }, maxUsd: '5.0000' }
const flatPricing = { inputPer1kUsd: '0.1', outputPer1kUsd: '0.1' }

export const instructions = 'You are terse. Answer in English.'
export const maxSteps = 3
export const maxOutputTokens = 500

const anything = z.looseObject({})

const tools = {
  weather: tool({
    description: 'The weather of a city.',
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => ({ city, celsius: 21 }),
  }),
  plain: tool({ description: 'Answers a text.', inputSchema: anything, execute: () => 'no object' }),
  broken: tool({
    description: 'Throws.',
    inputSchema: anything,
    execute: (): string => {
      throw new Error('The tool is broken.')
    },
  }),
  /** Reports progress before its result. */
  slow: tool({
    description: 'Takes its time.',
    inputSchema: anything,
    async *execute() {
      yield { percent: 10 }
      yield { percent: 60 }
      yield { percent: 100, value: 'ready' }
    },
  }),
}

const book = z.object({ title: z.string(), pages: z.number().int() })
const subject = z.object({ subject: z.string() })
const ask = (params: { subject: string }) => `Write about ${params.subject}.`
const endpoint = { description: 'Asks the model.', priceUsd: '0.0100' }

export function modelAgents(url: string): ErrandConfig {
  const compatible = (isStrict = false, modelId = 'stub-1') =>
    createOpenAICompatible({
      name: 'stub',
      baseURL: `${url}/v1`,
      apiKey: secretKey,
      includeUsage: true,
      supportsStructuredOutputs: isStrict,
    })(modelId)
  const model: ModelAgentConfig = {
    kind: 'model',
    id: 'model',
    name: 'Model',
    model: compatible(),
    instructions,
    tools,
    maxSteps,
    maxOutputTokens,
    pricing: modelPricing,
    endpoints: {
      draft: { ...endpoint, params: subject, prompt: ask },
      book: { ...endpoint, params: subject, prompt: ask, output: book },
      list: {
        ...endpoint,
        params: subject,
        prompt: ask,
        output: {
          type: 'object',
          properties: { names: { type: 'array', items: { type: 'string' } } },
          required: ['names'],
          additionalProperties: false,
        },
      },
      number: { ...endpoint, params: {}, prompt: () => 7 as never },
      promise: { ...endpoint, params: {}, prompt: () => Promise.resolve('Later') as never },
      thrown: {
        ...endpoint,
        params: {},
        prompt: () => {
          throw new Error('There is no prompt today.')
        },
      },
      brief: { ...endpoint, timeoutSeconds: 1, params: subject, prompt: ask },
    },
  }
  const { endpoints: _, instructions: __, tools: ___, ...bare } = model
  const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: secretKey })
  const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: secretKey })
  const get_weather = tool({
    description: 'The weather of a place.',
    inputSchema: z.object({ location: z.string(), unit: z.enum(['celsius', 'fahrenheit']).optional() }),
    execute: ({ location }) => ({ location, temperature: 18 }),
  })
  return {
    agents: [
      model,
      { ...bare, id: 'thinker', name: 'Thinker', reasoning: true },
      // Only output costs money: one or seven ten-thousandths per token.
      { ...bare, id: 'even', name: 'Even', pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0.1' } },
      { ...bare, id: 'odd', name: 'Odd', pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0.7' } },
      // Every token costs one ten-thousandth.
      { ...bare, id: 'flat', name: 'Flat', pricing: flatPricing },
      { ...bare, id: 'hidden', name: 'Hidden', pricing: flatPricing, hiddenReasoning: true },
      {
        ...bare,
        id: 'strict',
        name: 'Strict',
        model: compatible(true),
        endpoints: { book: { ...endpoint, params: subject, prompt: ask, output: book } },
      },
      {
        ...bare,
        id: 'backed',
        name: 'With a fallback',
        tools,
        pricing: { inputPerMillionUsd: '100', outputPerMillionUsd: '200' },
        cost: { inputPerMillionUsd: '50', outputPerMillionUsd: '100' },
        fallbacks: [
          {
            model: compatible(false, 'stub-2'),
            pricing: fallbackPricing,
            cost: { inputPerMillionUsd: '200', outputPerMillionUsd: '800' },
          },
        ],
        endpoints: { draft: { ...endpoint, params: subject, prompt: ask } },
      },
      {
        ...bare,
        id: 'tokens',
        name: 'Token-priced',
        tools,
        cost: { inputPerMillionUsd: '50', outputPerMillionUsd: '100' },
        fallbacks: [{ model: compatible(false, 'stub-2'), pricing: fallbackPricing }],
        endpoints: {
          draft: { description: 'Writes.', pricing: tokenPricing, params: subject, prompt: ask },
          book: { description: 'A book.', pricing: tokenPricing, params: subject, prompt: ask, output: book },
          fixed: { ...endpoint, params: subject, prompt: ask },
        },
      },
      { ...bare, id: 'basic', name: 'Basic', model: openai.chat('gpt-4.1-mini') },
      { ...bare, id: 'openai', name: 'OpenAI', model: openai.chat('gpt-5-mini'), tools: { get_weather } },
      {
        ...bare,
        id: 'claude',
        name: 'Claude',
        reasoning: true,
        model: anthropic('claude-haiku-4-5'),
        tools: { get_weather },
      },
      {
        ...bare,
        id: 'cached',
        name: 'Cached',
        model: anthropic('claude-haiku-4-5'),
        instructions,
        caching: '1h',
        providerOptions: { anthropic: { metadata: { userId: 'house' } } },
        pricing: costPlus({ markup: '2' }),
        cost: cachedCost,
        endpoints: { draft: { ...endpoint, params: subject, prompt: ask } },
      },
    ],
  }
}

/**
 * Default export, because agent threads load this file as their configuration. They find the provider in their
 * environment.
 */
export default defineConfig(modelAgents(process.env['TEST_MODEL_URL'] ?? 'http://127.0.0.1:9'))
