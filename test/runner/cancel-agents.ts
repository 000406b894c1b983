import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../server/agents/config/define-config.ts'

/** Ids of tasks, by what their runs have done. */
export type Watched = { begun: Set<string>; stopped: Set<string>; atWork: Set<string> }

const priceUsd = '0.0100'
const params = z.object({ ms: z.number().default(60_000) })

/** Returns in-process agents that record their runs: `slow` obeys its signal, `deaf` ignores it. */
export function cancelAgents() {
  const watched: Watched = { begun: new Set(), stopped: new Set(), atWork: new Set() }
  const slow = async ({
    params: { ms },
    signal,
    taskId,
  }: {
    params: { ms: number }
    signal: AbortSignal
    taskId: string
  }) => {
    watched.begun.add(taskId)
    watched.atWork.add(taskId)
    try {
      await pause(ms, undefined, { signal })
      return { slept: ms }
    } catch (error) {
      watched.stopped.add(taskId)
      throw error
    } finally {
      watched.atWork.delete(taskId)
    }
  }
  const deaf = async ({ params: { ms }, taskId }: { params: { ms: number }; taskId: string }) => {
    watched.begun.add(taskId)
    await pause(ms)
    return { slept: ms }
  }
  const config = defineConfig({
    agents: [
      {
        kind: 'code',
        id: 'work',
        name: 'Work',
        endpoints: {
          slow: defineEndpoint({ description: 'Sleeps.', priceUsd, params, run: slow }),
          retried: defineEndpoint({ description: 'Sleeps.', priceUsd, params, retries: 3, run: slow }),
          deaf: defineEndpoint({ description: 'Sleeps on.', priceUsd, params, run: deaf }),
          bound: defineEndpoint({
            description: 'Must end.',
            priceUsd,
            params,
            cancel: 'pending',
            timeoutSeconds: 30,
            run: slow,
          }),
        },
      },
    ],
  })
  return { config, watched }
}
