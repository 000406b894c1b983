import { defineAgent, type ModelObject } from 'errand'
import { z } from 'zod'

/** Summarizes texts for a fixed price per task, and chats for a price per token. */
export function writer(model: ModelObject) {
  return defineAgent({
    kind: 'model',
    id: 'writer',
    name: 'Writer',
    description: 'Summarizes texts and answers questions about them.',
    model,
    instructions: 'You are an editor. Answer briefly, in the language of the text.',
    pricing: { inputPerMillionUsd: '1', outputPerMillionUsd: '4' },
    endpoints: {
      summarize: {
        description: 'Summarizes a text in one sentence.',
        priceUsd: '0.0100',
        params: z
          .object({ text: z.string().min(1).max(20_000) })
          .meta({ examples: [{ text: 'It was a dark night…' }] }),
        prompt: ({ text }: { text: string }) => `Summarize this text in one sentence:\n\n${text}`,
      },
    },
  })
}
