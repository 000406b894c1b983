import type { LanguageModel } from 'ai'
import type { ModelAgentConfig, OpenAIAgentConfig } from '../config/define-config.ts'

/** Also the key of the agent's `providerOptions`, as `openaiCompatible`. */
const name = 'openai-compatible'
type SdkModel = Extract<Exclude<LanguageModel, string>, { specificationVersion: 'v4' }>

/** Turns an agent of kind openai into one of kind model, whose model calls the agent's URL. */
export function asModelAgent(agent: OpenAIAgentConfig): ModelAgentConfig {
  const { apiKey, baseUrl, kind: _, model: modelId, supportsStructuredOutputs = false, ...own } = agent
  let loaded: Promise<SdkModel> | undefined
  const load = () => (loaded ??= open({ apiKey, baseUrl, modelId, supportsStructuredOutputs }))
  const model = {
    specificationVersion: 'v4' as const,
    provider: `${name}.chat`,
    modelId,
    supportedUrls: {},
    supportsStructuredOutputs,
    doGenerate: async (options) => (await load()).doGenerate(options),
    doStream: async (options) => (await load()).doStream(options),
  } satisfies SdkModel & { supportsStructuredOutputs: boolean }
  return { ...own, kind: 'model', model }
}

type Opened = Pick<OpenAIAgentConfig, 'baseUrl'> & {
  apiKey: string | undefined
  modelId: string
  supportsStructuredOutputs: boolean
}

/** Imports lazily, because most threads never call a model. */
async function open({ apiKey, baseUrl, modelId, supportsStructuredOutputs }: Opened): Promise<SdkModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  const { modelFetch } = await import('./model-fetch.ts')
  const provider = createOpenAICompatible({
    name,
    baseURL: baseUrl,
    ...(apiKey !== undefined && { apiKey }),
    includeUsage: true,
    supportsStructuredOutputs,
    fetch: modelFetch,
  })
  return provider(modelId)
}
