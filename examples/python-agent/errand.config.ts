import { defineConfig } from 'errand'
import { z } from 'zod'

export default defineConfig({
  agents: [
    {
      kind: 'http',
      id: 'reader',
      name: 'Reader',
      description: 'Measures how easy texts are to read.',
      url: process.env['AGENT_URL'] ?? 'http://127.0.0.1:8100/',
      secret: process.env['AGENT_SECRET'] ?? '',
      endpoints: {
        readability: {
          description: 'Counts the words, sentences and syllables of an English text, and returns its reading ease.',
          priceUsd: '0.0050',
          params: z.object({ text: z.string().min(1) }),
          timeoutSeconds: 30,
        },
      },
      chat: { pricing: { inputPerMillionUsd: '1', outputPerMillionUsd: '2', toolCallUsd: '0.0005' } },
    },
  ],
})
