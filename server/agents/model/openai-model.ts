import type { LanguageModel } from 'ai'
import type { ModelAgentConfig, OpenAIAgentConfig } from '../config/define-config.ts'

/** Provider name. Its camel-case form `openaiCompatible` is the key in the agent's `providerOptions`. */
const name = 'openai-compatible'
type SdkModel = Extract<Exclude<LanguageModel, string>, { specificationVersion: 'v4' }>

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

/** Imports the provider package lazily, because most threads never call a model. */
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
