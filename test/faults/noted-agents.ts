import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { defineConfig, defineEndpoint, type TaskRun } from '../../server/agents/config/define-config.ts'
import testAgents from '../support/test-agents.ts'

const params = z.object({ file: z.string(), ms: z.number() })

/** Writes start, end, process and time of each run to a file, which survives anything that happens to the server. */
async function note({ params: { file, ms }, taskId }: TaskRun<z.output<typeof params>>): Promise<object> {
  appendFileSync(file, `${taskId} begins ${process.pid} ${Date.now()}\n`)
  await delay(ms)
  appendFileSync(file, `${taskId} ends ${process.pid} ${Date.now()}\n`)
  return { waited: ms }
}

const metered = z.object({ ...params.shape, pages: z.number() })

/** Like `note`, but charged by the page. */
async function meter(run: TaskRun<z.output<typeof metered>>): Promise<object> {
  const { charge, params } = run
  const half = Math.floor(params.pages / 2)
  charge('page', half)
  const waited = await note(run)
  charge('page', params.pages - half)
  return waited
}

/** Like `note`, but stops promptly when aborted. */
async function heed({ params: { file, ms }, signal, taskId }: TaskRun<z.output<typeof params>>): Promise<object> {
  appendFileSync(file, `${taskId} begins ${process.pid} ${Date.now()}\n`)
  try {
    await delay(ms, undefined, { signal })
  } finally {
    appendFileSync(file, `${taskId} ends ${process.pid} ${Date.now()}\n`)
  }
  return { waited: ms }
}

export default defineConfig({
  ...testAgents,
  agents: [
    ...testAgents.agents,
    {
      kind: 'code',
      id: 'noted',
      name: 'Noted agent',
      endpoints: {
        once: defineEndpoint({ description: 'Notes its run.', priceUsd: '0.0100', params, run: note }),
        heeding: defineEndpoint({
          description: 'Notes its run, and stops when it is told to.',
          priceUsd: '0.0100',
          params,
          run: heed,
        }),
        twice: defineEndpoint({
          description: 'Notes its run and may be run again once after an interruption.',
          priceUsd: '0.0100',
          retries: 1,
          params,
          run: note,
        }),
        metered: defineEndpoint({
          description: 'Notes its run, is charged by the page and may be run again once after an interruption.',
          pricing: { events: { page: '0.0010' }, maxUsd: '0.0100' },
          retries: 1,
          params: metered,
          run: meter,
        }),
        again: defineEndpoint({
          description: 'Notes its run and may be run again twice after an interruption.',
          priceUsd: '0.0100',
          retries: 2,
          params,
          run: note,
        }),
      },
    },
  ],
})
