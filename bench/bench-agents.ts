import { defineConfig } from '../server/agents/define-config.ts'

/** What the benchmarks run: nothing, and an agent that blocks its thread. */
export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'bench',
      name: 'Benchmark',
      endpoints: {
        noop: { description: 'Does nothing.', priceUsd: '0.0100', params: { type: 'object' }, run: () => ({}) },
        block: {
          description: 'Blocks its thread for that long.',
          priceUsd: '0.0100',
          timeoutSeconds: 60,
          params: { type: 'object', properties: { ms: { type: 'number' } }, required: ['ms'] },
          run: ({ params }) => {
            const until = performance.now() + Number(params['ms'])
            while (performance.now() < until) continue
            return {}
          },
        },
      },
    },
  ],
})
