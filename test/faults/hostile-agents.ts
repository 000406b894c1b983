import { fileURLToPath } from 'node:url'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'
import { defineConfig, defineEndpoint, type ModelAgentConfig } from '../../server/agents/config/define-config.ts'
import chatAgents from '../support/chat-agents.ts'
import hangingAgents from '../support/hanging-agents.ts'
import testAgents from '../support/test-agents.ts'

// Agents of the hostile run. Honest users have their own model with a provider that the attackers do not reach.

const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))

/** Prices of a cheap model, at which a few dollars last for minutes. */
const pricing = {
  inputPer1kUsd: '0.001',
  outputPer1kUsd: '0.004',
  reasoningPer1kUsd: '0.004',
  toolCallUsd: '0.0001',
} as const

const modelAt = (url: string | undefined) =>
  createOpenAICompatible({
    name: 'stub',
    baseURL: `${url ?? 'http://127.0.0.1:9'}/v1`,
    apiKey: 'none',
    includeUsage: true,
  })('stub-1')

const calls = z.array(z.object({ name: z.string(), args: z.looseObject({}).optional() }))
const params = z.object({ calls, atOnce: z.boolean().default(false) })
const endpoint = { description: 'Is attacked.', priceUsd: '0.0100' }

const model: ModelAgentConfig = {
  kind: 'model',
  id: 'model',
  name: 'Model',
  model: modelAt(process.env['HOSTILE_PROVIDER_URL']),
  maxSteps: 4,
  pricing,
  endpoints: { ask: { ...endpoint, params: z.object({ text: z.string() }), prompt: ({ text }) => text } },
}
const { endpoints: _, ...bare } = model

export default defineConfig({
  agents: [
    ...testAgents.agents,
    ...hangingAgents.agents,
    ...chatAgents.agents.filter(({ id }) => id === 'free'),
    model,
    { ...bare, id: 'thinker', name: 'Thinker', reasoning: true },
    { ...bare, id: 'honest', name: 'Honest', model: modelAt(process.env['HONEST_PROVIDER_URL']) },
    {
      kind: 'code',
      id: 'use',
      name: 'Uses connectors',
      endpoints: {
        call: defineEndpoint({
          ...endpoint,
          timeoutSeconds: 30,
          params,
          run: async ({ connectors, params: { atOnce, calls: some } }) => {
            if (atOnce) await Promise.all(some.map(({ args, name }) => connectors.call(name, args)))
            else for (const { args, name } of some) await connectors.call(name, args)
            return { tools: connectors.tools.length }
          },
        }),
      },
      chat: {
        pricing,
        async *reply({ connectors, message }) {
          yield { type: 'text', delta: 'The whole reply. '.repeat(200) }
          for (const { args, name } of calls.parse(JSON.parse(message))) await connectors.call(name, args)
        },
      },
    },
    {
      kind: 'http',
      id: 'remote',
      name: 'Remote',
      url: process.env['HOSTILE_AGENT_URL'] ?? 'http://127.0.0.1:9',
      secret: `whsec_${Buffer.alloc(32, 1).toString('base64')}`,
      endpoints: { flood: { ...endpoint, timeoutSeconds: 20, params: z.looseObject({}) } },
      chat: { pricing },
    },
  ],
  connectors: {
    servers: {
      everything: {
        name: 'Everything',
        command: process.execPath,
        // The mark in the arguments identifies processes that are left behind.
        args: [everything, 'stdio', process.env['HOSTILE_RUN'] ?? 'mark'],
        tokenEnv: 'USER_TOKEN',
      },
    },
  },
})
