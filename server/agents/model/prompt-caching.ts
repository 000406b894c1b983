import type { LanguageModelMiddleware } from 'ai'
import type { ModelAgentConfig } from '../config/define-config.ts'

type Prompt = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']['prompt']

export function cacheMarks(agent: ModelAgentConfig): LanguageModelMiddleware {
  return { transformParams: async ({ params }) => ({ ...params, prompt: withCacheMarks(params.prompt, agent) }) }
}

/**
 * Marks the end of the instructions and the end of the prompt. The provider caches the prompt up to each mark, and the
 * next call of the conversation reads that part from the cache. Providers ignore marks in another provider's format.
 */
function withCacheMarks(prompt: Prompt, { caching = false }: ModelAgentConfig): Prompt {
  if (caching === false) return prompt
  const marks = {
    anthropic: { cacheControl: { type: 'ephemeral', ...(caching === '1h' && { ttl: caching }) } },
    bedrock: { cachePoint: { type: 'default' } },
  }
  const marked = new Set([prompt.findLastIndex(({ role }) => role === 'system'), prompt.length - 1])
  return prompt.map((message, at) =>
    marked.has(at) ? { ...message, providerOptions: { ...message.providerOptions, ...marks } } : message,
  )
}
