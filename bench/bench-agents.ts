import { setTimeout as sleep } from 'node:timers/promises'
import { defineConfig } from '../server/agents/config/define-config.ts'
import { deltaAt, parseScript, usageOf } from './chat-script.ts'

const pauseMs = 5

/** Plan limits that the service must check for each task but that the benchmark never reaches. */
const plan = {
  executionsPerMinute: 10,
  tasksWaiting: 1_000_000,
  spendPerDayUsd: '1000',
  agents: ['bench', 'benchchat'],
}

/** Benchmark agents: a no-op, one that blocks its thread, and a chat whose output depends only on the message. */
export default defineConfig({
  ...(process.env['BENCH_PLAN'] && { plans: { bench: plan }, defaultPlan: 'bench' }),
  ...(process.env['BENCH_TASKS_DAYS'] && { retention: { tasksDays: Number(process.env['BENCH_TASKS_DAYS']) } }),
  webhooks: { privateHosts: ['127.0.0.1'] },
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
    {
      kind: 'code',
      id: 'benchchat',
      name: 'Benchmark chat',
      chat: {
        pricing: { inputPer1kUsd: '0.001', outputPer1kUsd: '0.002' },
        maxOutputTokens: 1_000_000,
        async *reply({ message, signal }) {
          const script = parseScript(message)
          for (let index = 0; index < script.deltas; index++) {
            if (script.isPaced) await sleep(pauseMs)
            yield { type: 'text', delta: deltaAt(index) }
          }
          if (script.isHeld) await sleep(60_000, undefined, { signal })
          yield { type: 'usage', ...usageOf(script) }
        },
      },
    },
  ],
})
