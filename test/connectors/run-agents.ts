import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { tool } from 'ai'
import { z } from 'zod'
import {
  defineConfig,
  type ErrandConfig,
  type ModelAgentConfig,
  type TaskRun,
} from '../../server/agents/config/define-config.ts'
import { modelPricing } from '../models/model-agents.ts'
import { blockThread } from '../support/block-thread.ts'

/** Argument of every connector server that this process starts, used to find leftover servers. */
export const mark = `errand-test-${process.pid}`

export const everything = fileURLToPath(import.meta.resolve('@modelcontextprotocol/server-everything/dist/index.js'))
const rogue = fileURLToPath(new URL('./run-rogue-server.ts', import.meta.url))

/** Value of an environment variable that the operator sets for a server. Hidden from users. */
export const operatorKey = 'operator-key-5f0e1d2c'
/** Value of such a variable with an innocuous name. */
export const operatorPlace = 'operator-place'

export type ToolUse = { name: string; args?: Record<string, unknown> }

export const params = z.object({
  calls: z.array(z.object({ name: z.string(), args: z.looseObject({}).optional() })).default([]),
  /** File to which the run appends its events, one word per line. */
  file: z.string().optional(),
  /** Whether all calls are made in parallel. */
  atOnce: z.boolean().default(false),
  /** How long the thread blocks after the calls. */
  blockMs: z.number().default(0),
})

const endpoint = { description: 'Uses connectors.', priceUsd: '0.0100', params }

async function useAll({ connectors, params: of, signal }: TaskRun<z.output<typeof params>>): Promise<object> {
  const { atOnce, blockMs, calls, file } = of
  if (file !== undefined) {
    appendFileSync(file, 'begun\n')
    signal.addEventListener('abort', () => appendFileSync(file, 'aborted\n'), { once: true })
  }
  const answers = atOnce ? await Promise.all(calls.map(({ args, name }) => connectors.call(name, args))) : []
  if (!atOnce) for (const { args, name } of calls) answers.push(await connectors.call(name, args))
  if (blockMs > 0) appendFileSync(file!, 'blocked\n')
  if (blockMs > 0) blockThread(blockMs)
  return { tools: connectors.tools, answers }
}

/** Occupies its slot until the file exists. */
async function waitForFile({ params: { file }, signal }: TaskRun<z.output<typeof params>>): Promise<object> {
  while (!existsSync(file!) && !signal.aborted) await sleep(20)
  return {}
}

/** Returns agents that make the requested calls, and the servers that users may connect. */
export function runAgents(url: string): ErrandConfig {
  const ask = (of: z.output<typeof params>) => JSON.stringify(of.calls)
  const model: ModelAgentConfig = {
    kind: 'model',
    id: 'model',
    name: 'Model',
    model: createOpenAICompatible({ name: 'stub', baseURL: `${url}/v1`, apiKey: 'none', includeUsage: true })('stub-1'),
    maxSteps: 3,
    pricing: modelPricing,
    endpoints: { call: { ...endpoint, prompt: ask }, brief: { ...endpoint, timeoutSeconds: 5, prompt: ask } },
  }
  const own = tool({
    description: 'Adds up by itself.',
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    execute: ({ a, b }) => `I say ${a + b}.`,
  })
  const note = tool({
    description: 'Notes that it was called.',
    inputSchema: z.object({ file: z.string() }),
    execute: ({ file }) => appendFileSync(file, 'called\n'),
  })
  const server = (...args: string[]) => ({ name: args[0]!, command: process.execPath, args: [...args, mark] })
  const keyed = { env: { OPERATOR_KEY: operatorKey, PLACE: operatorPlace }, tokenEnv: 'USER_TOKEN' }
  const rogues = ['serve', 'exit', 'garbage', 'no-answer', 'no-tools', 'odd-names']
  return {
    agents: [
      {
        kind: 'code',
        id: 'code',
        name: 'Code',
        endpoints: {
          call: { ...endpoint, run: useAll },
          brief: { ...endpoint, timeoutSeconds: 5, run: useAll },
          block: { ...endpoint, timeoutSeconds: 8, run: useAll },
          wait: { ...endpoint, run: waitForFile },
          echo: { description: 'Echoes.', priceUsd: '0.0100', params: z.looseObject({}), run: (run) => run.params },
        },
        chat: {
          pricing: modelPricing,
          async *reply({ connectors, message }) {
            if (!message.startsWith('[')) yield { type: 'text', delta: `You said: ${message}` }
            else {
              for (const { args, name } of JSON.parse(message) as ToolUse[]) {
                yield { type: 'text', delta: `${(await connectors.call(name, args)).text}\n` }
              }
            }
          },
        },
      },
      model,
      { ...model, id: 'noting', name: 'Noting', tools: { note } },
      { ...model, id: 'owner', name: 'Owner', tools: { 'get-sum': own } },
    ],
    connectors: {
      servers: {
        everything: server(everything, 'stdio'),
        ...Object.fromEntries(['leaky', 'list-error'].map((mode) => [mode, { ...server(rogue, mode), ...keyed }])),
        keyed: { ...server(everything, 'stdio'), ...keyed },
        missing: { ...server('missing'), command: '/no/such/command' },
        ...Object.fromEntries(rogues.map((mode) => [mode, server(rogue, mode)])),
      },
    },
  }
}

/**
 * Default export, because agent threads load this file as their configuration. They find the provider in their
 * environment.
 */
export default defineConfig(runAgents(process.env['TEST_MODEL_URL'] ?? 'http://127.0.0.1:9'))
