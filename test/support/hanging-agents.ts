import { defineConfig } from '../../server/agents/config/define-config.ts'

/** A free agent that reports the sizes of its files, and hangs on demand. */
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
