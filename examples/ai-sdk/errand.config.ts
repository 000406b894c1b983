import { setTimeout } from 'node:timers/promises'
import { defineConfig } from 'errand'

const secondsMax = 60

/** Counts up to the number in the message, one per second, which leaves time to reload the page. */
export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'counter',
      name: 'Counter',
      chat: {
        pricing: { inputPerMillionUsd: '10', outputPerMillionUsd: '20', toolCallUsd: '0.0005' },
        async *reply({ message, signal }) {
          const to = Math.min(Number(/\d+/.exec(message)?.[0] ?? 3), secondsMax)
          yield { type: 'tool-call', id: 'call-1', name: 'read-number', arguments: { text: message } }
          yield { type: 'tool-result', id: 'call-1', output: { number: to } }
          for (let number = 1; number <= to; number++) {
            yield { type: 'text', delta: `${number} ` }
            await setTimeout(1000, undefined, { signal })
          }
          yield { type: 'text', delta: 'and done.' }
        },
      },
    },
  ],
})
