import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { z } from 'zod'
import {
  defineConfig,
  defineEndpoint,
  type ChatPart,
  type ChatRun,
  type TaskRun,
} from '../../server/agents/config/define-config.ts'
import { gates } from './sim-gates.ts'
import { providerVariable, readerContextTokens } from './sim-provider.ts'

// Agents that follow scripts. They run in the service's thread, so that the simulation can open their gates.

export type ChatStep =
  | { do: 'text' | 'think'; delta: string; times?: number }
  | { do: 'call' | 'result'; id: string }
  | { do: 'usage'; prompt: number; cached: number; written: [number, number]; completion: number; reasoning: number }
  | { do: 'gate'; name: string }
  | { do: 'throw' }

/** Rates with enough digits to require rounding. */
export const simPricing = {
  inputPerMillionUsd: '10.005',
  cacheReadPerMillionUsd: '3.3',
  cacheWritePerMillionUsd: '12.506251',
  cacheWrite1hPerMillionUsd: '20.01',
  outputPerMillionUsd: '30',
  reasoningPerMillionUsd: '50.001',
  toolCallUsd: '0.001255',
  longContext: {
    aboveTokens: 300,
    inputPerMillionUsd: '20.01',
    cacheReadPerMillionUsd: '6.600001',
    cacheWritePerMillionUsd: '25.012502',
    cacheWrite1hPerMillionUsd: '40.02',
    outputPerMillionUsd: '45.5',
    reasoningPerMillionUsd: '75.0015',
  },
} as const
/** Rates of the provider. */
export const simCost = {
  inputPerMillionUsd: '7.000001',
  cacheReadPerMillionUsd: '0.7',
  cacheWritePerMillionUsd: '8.75',
  cacheWrite1hPerMillionUsd: '14',
  outputPerMillionUsd: '21.5',
  reasoningPerMillionUsd: '22',
  toolCallUsd: '0.0004',
  longContext: {
    aboveTokens: simPricing.longContext.aboveTokens,
    inputPerMillionUsd: '14.000003',
    cacheReadPerMillionUsd: '1.4',
    cacheWritePerMillionUsd: '17.5',
    cacheWrite1hPerMillionUsd: '28',
    outputPerMillionUsd: '32.25',
    reasoningPerMillionUsd: '33',
  },
} as const
/** Rates of `simPricing` per 1,000 tokens, for the models. Their provider reports no cache writes. */
const modelPricing = {
  inputPer1kUsd: '0.010005',
  cachedInputPer1kUsd: '0.0033',
  outputPer1kUsd: '0.03',
  reasoningPer1kUsd: '0.050001',
  toolCallUsd: simPricing.toolCallUsd,
} as const

/** Rates of the model that answers in place of one that is down. Some are above those of `simPricing`, some below. */
const fallbackPricing = {
  inputPerMillionUsd: '7.000007',
  cacheReadPerMillionUsd: '4.5',
  outputPerMillionUsd: '44.4',
  reasoningPerMillionUsd: '44.5',
  toolCallUsd: '0.0009',
} as const

/** Returns the rates of the model that answers for the agent. */
export const simRatesOf = (agentId: 'sim' | SimModelAgent) =>
  agentId === 'fallback' ? { ...simPricing, ...fallbackPricing } : simPricing

export const simPrices = {
  'sim.echo': 100,
  'sim.free': 0,
  'sim.dear': 12_345,
  'sim.fail': 200,
  'sim.failfree': 0,
  'sim.size': 150,
  'sim.held': 300,
  'sim.retried': 250,
  'sim.slow': 100,
  'sim.tools': 400,
  'sim.patient': 120,
  'sim.metered': 1000,
  'priced.write': 900,
} as const
/** Rates of a token-priced task in units per million tokens, by the model that answers. */
export const simTokenRates = {
  told: { input: 100_005, output: 300_000 },
  spare: { input: 40_001, output: 550_000 },
} as const
export const simEvents = { page: 7, figure: 300 } as const
export type SimEndpoint = keyof typeof simPrices

const retries: Partial<Record<SimEndpoint, number>> = { 'sim.retried': 2, 'sim.metered': 1 }
export const simRetries = (endpoint: SimEndpoint): number => retries[endpoint] ?? 0

/** Agents with models: a plain one, one whose first model is down, one with hidden reasoning, and one that reads files. */
export const simModelAgents = ['model', 'fallback', 'hidden', 'reader'] as const
export type SimModelAgent = (typeof simModelAgents)[number]

/** Spend limits are in units per day, `tasksRunning` in tasks. */
export const simPlans = {
  daily: { spendPerDay: 20_000, tasksAtWork: null },
  narrow: { spendPerDay: 60_000, tasksAtWork: 2 },
} as const
export type SimPlan = keyof typeof simPlans

export const modelOutputTokensMax = 1000
export const modelStepsMax = 4

const nowhere = 'http://provider.invalid'

function placeOf(input: string | URL | Request): string {
  const url = input instanceof Request ? input.url : input.toString()
  return url.replace(nowhere, process.env[providerVariable]!)
}

const model = createOpenAICompatible({
  name: 'sim',
  baseURL: nowhere,
  includeUsage: true,
  // Looks up the provider's URL for each call, because the port is known only when the simulation starts.
  fetch: (input, init) => fetch(placeOf(input), init),
})('sim-1')

type Told = { input: number; output: number; isDown: boolean }

/** A model that reports the token counts in its prompt, or cannot be reached. */
const told = {
  specificationVersion: 'v3',
  provider: 'sim',
  modelId: 'told',
  supportedUrls: {},
  doGenerate: async ({ prompt }: { prompt: { content: { text: string }[] }[] }) => {
    const { input, isDown, output } = JSON.parse(prompt.at(-1)!.content[0]!.text) as Told
    if (isDown) throw unreachable()
    return answerOf({ input, output })
  },
  doStream: async () => {
    throw new Error('It is not asked to.')
  },
}

/** The fallback model, which answers if the first model cannot be reached. */
const spare = {
  ...told,
  modelId: 'spare',
  doGenerate: async ({ prompt }: { prompt: { content: { text: string }[] }[] }) =>
    answerOf(JSON.parse(prompt.at(-1)!.content[0]!.text) as Told),
}

/** A model that cannot be reached. */
const down = { ...told, modelId: 'down', doStream: async () => Promise.reject(unreachable()) }

function unreachable() {
  return Object.assign(new Error('It is down.'), { isRetryable: true, statusCode: 503 })
}

function answerOf({ input, output }: Pick<Told, 'input' | 'output'>) {
  return {
    content: [{ type: 'text', text: 'ok' }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage: {
      inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: output, text: output, reasoning: 0 },
    },
    warnings: [],
  }
}

const numbered = z.looseObject({ n: z.number() })
const gated = z.object({ n: z.number(), gate: z.string() })

async function passGate({ params, signal }: Pick<TaskRun<{ n: number; gate: string }>, 'params' | 'signal'>) {
  if ((await gates.pass(params.gate, signal)) === 'fail') throw new Error('It was to fail.')
  return { passed: params.gate }
}

const throwIt = () => {
  throw new Error('It failed.')
}

const usdOf = (units: number): string => (units / 10_000).toFixed(4)
const usd = (endpoint: SimEndpoint): string => usdOf(simPrices[endpoint])

const talker = {
  kind: 'model' as const,
  name: 'Simulated model',
  model,
  instructions: 'You are simulated.',
  tools: {
    look: {
      description: 'Looks.',
      inputSchema: z.object({ at: z.string() }),
      execute: ({ at }: { at: string }) => ({ found: at }),
    },
  },
  maxSteps: modelStepsMax,
  maxOutputTokens: modelOutputTokensMax,
  pricing: modelPricing,
}

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'sim',
      name: 'Simulated agent',
      endpoints: {
        echo: defineEndpoint({
          description: 'Returns its params.',
          priceUsd: usd('sim.echo'),
          params: numbered,
          run: ({ params }) => params,
        }),
        free: defineEndpoint({ description: 'Free.', priceUsd: usd('sim.free'), params: numbered, run: () => ({}) }),
        dear: defineEndpoint({ description: 'Dear.', priceUsd: usd('sim.dear'), params: numbered, run: () => 'dear' }),
        fail: defineEndpoint({ description: 'Throws.', priceUsd: usd('sim.fail'), params: numbered, run: throwIt }),
        failfree: defineEndpoint({
          description: 'Throws and costs nothing.',
          priceUsd: usd('sim.failfree'),
          params: numbered,
          run: throwIt,
        }),
        size: defineEndpoint({
          description: 'Returns a text that is made of `lead` and so many of `of`.',
          priceUsd: usd('sim.size'),
          params: z.object({ n: z.number(), lead: z.string(), of: z.string(), times: z.number() }),
          run: ({ params: { lead, of, times } }) => ({ text: lead + of.repeat(times) }),
        }),
        held: defineEndpoint({
          description: 'Waits at a gate.',
          priceUsd: usd('sim.held'),
          params: gated,
          run: passGate,
        }),
        retried: defineEndpoint({
          description: 'Waits at a gate, and is run again twice when it is interrupted.',
          priceUsd: usd('sim.retried'),
          params: gated,
          retries: simRetries('sim.retried'),
          run: passGate,
        }),
        metered: defineEndpoint({
          description: 'Charges pages, then figures, tells how far it is, and waits at a gate if there is one.',
          pricing: {
            events: { page: usdOf(simEvents.page), figure: usdOf(simEvents.figure) },
            maxUsd: usd('sim.metered'),
          },
          retries: simRetries('sim.metered'),
          params: z.object({ n: z.number(), pages: z.number(), figures: z.number(), gate: z.string().optional() }),
          run: async ({ charge, params, progress, signal }) => {
            for (let page = 0; page < params.pages; page++) {
              charge('page')
              progress({ fraction: page / params.pages, data: { n: params.n } })
            }
            charge('figure', params.figures)
            const end = params.gate === undefined ? 'ok' : await gates.pass(params.gate, signal)
            if (end === 'fail') throw new Error('It was to fail.')
            return {}
          },
        }),
        tools: defineEndpoint({
          description: 'Calls the tools of the user, or none of them, and waits at a gate.',
          priceUsd: usd('sim.tools'),
          params: gated.extend({ calls: z.boolean() }),
          run: async ({ connectors, params, signal }) => {
            if (params.calls) for (const { name } of connectors.tools) await connectors.call(name, {})
            return await passGate({ params, signal })
          },
        }),
        patient: defineEndpoint({
          description: 'Calls the tools of the user, and has little time of its own.',
          priceUsd: usd('sim.patient'),
          timeoutSeconds: 1,
          params: numbered,
          run: async ({ connectors }) => {
            for (const { name } of connectors.tools) await connectors.call(name, {})
            return {}
          },
        }),
        slow: defineEndpoint({
          description: 'Never ends and ignores its signal.',
          priceUsd: usd('sim.slow'),
          timeoutSeconds: 1,
          params: numbered,
          run: () => new Promise(() => {}),
        }),
      },
      chat: { pricing: simPricing, cost: simCost, reasoning: true, maxOutputTokens: 1000, reply },
    },
    {
      kind: 'model',
      id: 'priced',
      name: 'Token-priced',
      model: told,
      fallbacks: [{ model: spare, pricing: { inputPerMillionUsd: '4.0001', outputPerMillionUsd: '55' } }],
      maxOutputTokens: 500,
      endpoints: {
        write: {
          description: 'Uses tokens.',
          pricing: {
            tokens: { inputPerMillionUsd: '10.0005', outputPerMillionUsd: '30' },
            maxUsd: usd('priced.write'),
          },
          params: z.object({ n: z.number(), input: z.number(), output: z.number(), isDown: z.boolean() }),
          prompt: (params) => JSON.stringify(params),
        },
      },
    },
    { ...talker, id: 'model' },
    { ...talker, id: 'fallback', model: down, fallbacks: [{ model, pricing: fallbackPricing }] },
    { ...talker, id: 'hidden', hiddenReasoning: true },
    {
      ...talker,
      id: 'reader',
      accepts: ['image/*', 'application/pdf', 'text/*'],
      contextTokens: readerContextTokens,
    },
  ],
  plans: {
    daily: { spendPerDayUsd: usdOf(simPlans.daily.spendPerDay) },
    narrow: { spendPerDayUsd: usdOf(simPlans.narrow.spendPerDay), tasksAtWork: simPlans.narrow.tasksAtWork },
  },
})

/** Runs the steps that a message contains as JSON. */
async function* reply({ message, signal }: ChatRun): AsyncGenerator<ChatPart> {
  for (const step of JSON.parse(message) as ChatStep[]) {
    switch (step.do) {
      case 'text':
      case 'think':
        for (let n = 0; n < (step.times ?? 1); n++) {
          yield { type: step.do === 'text' ? 'text' : 'reasoning', delta: step.delta }
        }
        break
      case 'call':
        yield { type: 'tool-call', id: step.id, name: 'look', arguments: { at: step.id } }
        break
      case 'result':
        yield { type: 'tool-result', id: step.id, output: { found: step.id } }
        break
      case 'usage':
        yield {
          type: 'usage',
          promptTokens: step.prompt,
          cachedPromptTokens: step.cached,
          cacheWriteTokens: step.written[0],
          cacheWrite1hTokens: step.written[1],
          completionTokens: step.completion,
          reasoningTokens: step.reasoning,
        }
        break
      case 'gate':
        await gates.pass(step.name, signal)
        break
      case 'throw':
        throw new Error('The reply broke off.')
    }
  }
}
