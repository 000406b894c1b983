import { defineConfig } from '../../server/agents/config/define-config.ts'

/** An agent that costs nothing, tells the sizes of the files that it is given, and hangs if it is told to. */
export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'hangs',
      name: 'Hangs',
      chat: {
        accepts: ['text/*'],
        contextTokens: 10_000_000,
        pricing: { inputPer1kUsd: '0', outputPer1kUsd: '0' },
        async *reply({ message, parts = [], signal }) {
          const sizes = parts.flatMap((part) => (part.type === 'file' ? [part.data?.length] : []))
          yield { type: 'text', delta: JSON.stringify(sizes) }
          if (message === 'Hang') await new Promise((resolve) => signal.addEventListener('abort', resolve))
        },
      },
    },
  ],
})
