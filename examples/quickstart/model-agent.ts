import { defineAgent } from 'errand'
import { z } from 'zod'
import { profile, profileCsv } from './profile-csv.ts'
import { summarize, summarizeText } from './summarize-text.ts'

const draftParams = z.object({
  brief: z.string().min(1, 'The brief is empty.').max(20_000).describe('What the text should say, and to whom.'),
  tone: z.enum(['friendly', 'neutral', 'formal']).default('neutral').describe('Tone of the text.'),
})

/** Returns an agent for the language model that the environment names, or undefined if it names none. */
export async function openModelAgent(env: NodeJS.ProcessEnv) {
  const found = await openModel(env)
  if (found === undefined) return undefined
  return defineAgent({
    kind: 'model',
    id: 'model',
    name: 'Language model',
    description: `Chats and writes with ${found.label}. Analyzes tables and texts with exact tools on this machine.`,
    model: found.model,
    instructions:
      'You are a helpful assistant. Answer briefly. For figures of a table call profile_csv and for the summary of a ' +
      'long text call summarize_text, rather than working them out yourself.',
    tools: {
      profile_csv: {
        description: profile.description,
        inputSchema: profile.params,
        execute: async ({ csv, ...options }: z.output<typeof profile.params>, { abortSignal: signal }) => {
          const { columns, ...rest } = await profileCsv(csv, { ...options, signal })
          return { ...rest, columnCount: columns.length, columns: columns.slice(0, 20) }
        },
      },
      summarize_text: {
        description: summarize.description,
        inputSchema: summarize.params,
        execute: async ({ text, sentences }: z.output<typeof summarize.params>, { abortSignal: signal }) => {
          const { summary, totals, notes } = await summarizeText(text, { sentences, signal })
          return { summary, totals, notes }
        },
      },
    },
    maxSteps: 6,
    maxOutputTokens: 2048,
    pricing: {
      inputPerMillionUsd: '1',
      cacheReadPerMillionUsd: '0.20',
      outputPerMillionUsd: '4',
      toolCallUsd: '0.001',
    },
    endpoints: {
      draft: {
        description: 'Drafts a short text, such as an email or a notice, from a brief.',
        priceUsd: '0.0200',
        timeoutSeconds: 120,
        retries: 1,
        params: draftParams,
        prompt: ({ brief, tone }) =>
          `Draft a text in a ${tone} tone, in the language of the brief. Answer with the text alone.\n\n${brief}`,
      },
    },
  })
}

/**
 * Opens the first model that the environment names. Imports its package only then, because each agent thread loads this
 * file.
 */
async function openModel(env: NodeJS.ProcessEnv) {
  const baseURL = env['ERRAND_MODEL_BASE_URL']
  if (baseURL) {
    const label = env['ERRAND_MODEL_NAME']
    if (!label) throw new Error('ERRAND_MODEL_NAME: must name a model of the server at ERRAND_MODEL_BASE_URL')
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const apiKey = env['ERRAND_MODEL_API_KEY']
    // Without includeUsage, a stream ends without the token counts that the charge is based on.
    const provider = createOpenAICompatible({ name: 'model', baseURL, includeUsage: true, ...(apiKey && { apiKey }) })
    return { model: provider(label), label }
  }
  if (env['OPENAI_API_KEY']) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const label = env['OPENAI_MODEL'] || 'gpt-5-mini'
    return { model: createOpenAI({ apiKey: env['OPENAI_API_KEY'] }).chat(label), label }
  }
  if (env['ANTHROPIC_API_KEY']) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const label = env['ANTHROPIC_MODEL'] || 'claude-haiku-4-5'
    return { model: createAnthropic({ apiKey: env['ANTHROPIC_API_KEY'] })(label), label }
  }
  return undefined
}
