import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../server/agents/config/define-config.ts'
import { talk } from './chat-agents.ts'

import { blockThread } from './block-thread.ts'
const anything = z.record(z.string(), z.unknown())

/** Agents that follow a test's instructions. Threads load this configuration file; inline runs use it in memory. */
export default defineConfig({
  webhooks: { privateHosts: ['127.0.0.1'] },
  agents: [
    {
      kind: 'code',
      id: 'test',
      name: 'Test agent',
      endpoints: {
        echo: defineEndpoint({
          description: 'Returns its params.',
          priceUsd: '0.0100',
          params: anything,
          run: ({ params }) => params,
        }),
        value: defineEndpoint({
          description: 'Returns one of its params.',
          priceUsd: '0.0100',
          params: z.object({ value: z.unknown() }),
          run: ({ params }) => params.value,
        }),
        fail: defineEndpoint({
          description: 'Throws.',
          priceUsd: '0.0200',
          params: z.object({ message: z.string().default('It failed.') }),
          run: ({ params }) => {
            throw new Error(params.message)
          },
        }),
        typed: defineEndpoint({
          description: 'Has a strict schema.',
          priceUsd: '0.0100',
          params: z.strictObject({
            text: z.string().min(1).max(100),
            count: z.number().int().min(1).max(5).default(3),
          }),
          run: ({ params }) => params,
        }),
        schema: defineEndpoint({
          description: 'Is described by a JSON Schema.',
          priceUsd: '0.0100',
          params: {
            type: 'object',
            properties: { name: { type: 'string', minLength: 1 }, times: { type: 'integer', default: 2 } },
            required: ['name'],
            additionalProperties: false,
          },
          run: ({ params }) => params,
        }),
        free: defineEndpoint({ description: 'Costs nothing.', priceUsd: '0', params: anything, run: () => ({}) }),
        dear: defineEndpoint({ description: 'Costs much.', priceUsd: '1.2345', params: anything, run: () => ({}) }),
        wait: defineEndpoint({
          description: 'Runs for that long, and ends early when it is aborted.',
          priceUsd: '0.0100',
          timeoutSeconds: 15,
          params: z.object({ ms: z.number() }),
          run: ({ params, signal }) =>
            new Promise((resolve, reject) => {
              const timer = setTimeout(() => resolve({ waited: params.ms }), params.ms)
              signal.addEventListener('abort', () => {
                clearTimeout(timer)
                reject(new Error('aborted'))
              })
            }),
        }),
        stubborn: defineEndpoint({
          description: 'Never ends and ignores its signal.',
          priceUsd: '0.0100',
          timeoutSeconds: 1,
          params: anything,
          run: () => new Promise(() => {}),
        }),
        retried: defineEndpoint({
          description: 'Runs for that long and may be run again twice after an interruption.',
          priceUsd: '0.0100',
          retries: 2,
          params: z.object({ ms: z.number() }),
          run: ({ params }) => new Promise((resolve) => setTimeout(resolve, params.ms, { waited: params.ms })),
        }),
        large: defineEndpoint({
          description: 'Returns a text of that many characters.',
          priceUsd: '0.0100',
          params: z.object({ chars: z.number(), of: z.string().default('x') }),
          run: ({ params }) => ({ text: params.of.repeat(params.chars) }),
        }),
        block: defineEndpoint({
          description: 'Blocks its thread for that long.',
          priceUsd: '0.0100',
          timeoutSeconds: 60,
          params: z.object({ ms: z.number() }),
          run: ({ params }) => {
            blockThread(params.ms)
            return { blocked: params.ms }
          },
        }),
      },
    },
    talk,
    {
      kind: 'code',
      id: 'hidden',
      name: 'Hidden agent',
      visibility: ['friend@example.com'],
      endpoints: {
        echo: defineEndpoint({
          description: 'Returns its params.',
          priceUsd: '0.0100',
          params: anything,
          run: ({ params }) => params,
        }),
      },
    },
  ],
})
