import type { ModelAgentConfig } from 'errand'
import { z } from 'zod'
import { shortenProfile } from './assistant/phrase-profile.ts'
import { profileCsv } from './profile-csv.ts'
import { summarizeText } from './summarize-text.ts'

type Environment = { readonly [name: string]: string | undefined }

/**
 * An agent that is a language model, of the first of these that the environment names:
 *
 *   ERRAND_MODEL_BASE_URL and ERRAND_MODEL_NAME    any server that speaks OpenAI's protocol: Ollama, vLLM, llama.cpp …
 *   OPENAI_API_KEY                                 OpenAI; OPENAI_MODEL names another model than gpt-5-mini
 *   ANTHROPIC_API_KEY                              Anthropic; ANTHROPIC_MODEL names another than claude-haiku-4-5
 *
 * Undefined when it names none. The provider's package is loaded only then, since each agent thread loads this file.
 */
export async function openModelAgent(env: Environment): Promise<ModelAgentConfig | undefined> {
  const found = await openModel(env)
  return (
    found && {
      kind: 'model',
      id: 'model',
      name: 'Language model',
      description: `Converses and writes by ${found.label}; looks at tables and texts by exact tools of this machine.`,
      model: found.model,
      instructions,
      tools,
      maxSteps: 6,
      maxOutputTokens: 2048,
      pricing: {
        inputPer1kUsd: '0.001',
        cachedInputPer1kUsd: '0.0002',
        outputPer1kUsd: '0.004',
        toolCallUsd: '0.001',
      },
      endpoints: {
        draft: {
          description: 'Drafts a short text, such as an e-mail or a notice, from what it must say.',
          priceUsd: '0.0200',
          timeoutSeconds: 120,
          retries: 1,
          params: draftParams,
          prompt: ({ brief, tone }) =>
            `Draft a text in a ${tone} tone, in the language of the brief. Answer with the text alone.\n\n${brief}`,
        },
      },
    }
  )
}

const instructions =
  'You are a helpful assistant. Answer briefly. For figures of a table call profile_csv and for the summary of a long ' +
  'text call summarize_text, rather than working them out yourself.'

const draftParams = z.object({
  brief: z.string().min(1, 'The brief is empty.').max(20_000).describe('What the text must say, and to whom.'),
  tone: z.enum(['friendly', 'neutral', 'formal']).default('neutral').describe('How it sounds.'),
})

const csvInput = z.object({
  csv: z.string().describe('The table as CSV text.'),
  header: z.boolean().default(true).describe('Whether the first row holds the names of the columns.'),
})
const textInput = z.object({
  text: z.string().describe('The text to summarize.'),
  sentences: z.int().min(1).max(20).default(3).describe('How many sentences the summary has at most.'),
})

/** What the endpoints `data.profile` and `text.summarize` do, for the model to call. */
const tools: NonNullable<ModelAgentConfig['tools']> = {
  profile_csv: {
    description: 'Describes each column of a CSV table with exact figures.',
    inputSchema: csvInput,
    execute: async ({ csv, header }: z.output<typeof csvInput>, { abortSignal }) =>
      shortenProfile(await profileCsv(csv, { header, ...(abortSignal && { signal: abortSignal }) })),
  },
  summarize_text: {
    description: 'Summarizes a text by its own most central sentences, word for word.',
    inputSchema: textInput,
    execute: async ({ sentences, text }: z.output<typeof textInput>, { abortSignal }) => {
      const { notes, summary, totals } = await summarizeText(text, {
        sentences,
        ...(abortSignal && { signal: abortSignal }),
      })
      return { summary, totals, notes }
    },
  },
}

async function openModel(env: Environment): Promise<{ model: ModelAgentConfig['model']; label: string } | undefined> {
  const baseURL = env['ERRAND_MODEL_BASE_URL']
  if (baseURL) {
    const label = env['ERRAND_MODEL_NAME']
    if (!label) throw new Error('ERRAND_MODEL_NAME: must name a model of the server at ERRAND_MODEL_BASE_URL')
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
    const apiKey = env['ERRAND_MODEL_API_KEY']
    // Without includeUsage a stream ends without the counts that the chat is charged by.
    const provider = createOpenAICompatible({ name: 'model', baseURL, includeUsage: true, ...(apiKey && { apiKey }) })
    return { model: provider(label), label }
  }
  const openaiKey = env['OPENAI_API_KEY']
  if (openaiKey) {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const label = env['OPENAI_MODEL'] || 'gpt-5-mini'
    return { model: createOpenAI({ apiKey: openaiKey }).chat(label), label }
  }
  const anthropicKey = env['ANTHROPIC_API_KEY']
  if (anthropicKey) {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const label = env['ANTHROPIC_MODEL'] || 'claude-haiku-4-5'
    return { model: createAnthropic({ apiKey: anthropicKey })(label), label }
  }
  return undefined
}
