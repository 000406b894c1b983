import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { ErrandConfig, MessagePart } from '../../server/agents/config/define-config.ts'

// Agents that accept files: a model with vision, one without, and an agent that reports its input.

export const accepts = ['image/*', 'application/pdf', 'text/*']
export const imageTokensMax = 2000
/** Context size. Small, because a document without its own token bound reserves all of the remaining context. */
export const smallContext = 8000
export const rates = { inputPer1kUsd: '0.1', outputPer1kUsd: '0.2' }

function told(parts: readonly MessagePart[] | undefined): string {
  return (parts ?? [])
    .map((part) => (part.type === 'text' ? part.text : `${part.filename}:${part.mediaType}:${part.data?.length}`))
    .join('|')
}

/** Returns agents with a model that uses the provider at this URL. */
export function fileAgents(url: string, { contextTokens = smallContext } = {}): ErrandConfig {
  const model = createOpenAICompatible({ name: 'stub', baseURL: `${url}/v1`, apiKey: 'k', includeUsage: true })(
    'stub-1',
  )
  const sees = { kind: 'model', model, contextTokens, pricing: rates, maxOutputTokens: 100, maxSteps: 1 } as const
  return {
    agents: [
      { ...sees, id: 'sees', name: 'Sees', accepts, imageTokensMax },
      { ...sees, id: 'blind', name: 'Blind' },
      {
        kind: 'code',
        id: 'tells',
        name: 'Tells',
        chat: {
          accepts,
          contextTokens,
          pricing: rates,
          async *reply({ history, message, parts }) {
            yield { type: 'text', delta: `${message} <${told(parts)}>` }
            for (const { parts: earlier } of history) if (earlier) yield { type: 'text', delta: ` <${told(earlier)}>` }
            if (message.startsWith('Fail')) throw new Error('As it was told.')
          },
        },
      },
    ],
  }
}
