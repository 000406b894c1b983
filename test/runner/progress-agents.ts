import { existsSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { defineConfig, defineEndpoint, type TaskRun } from '../../server/agents/config/define-config.ts'

// Agents that report progress and charge events as instructed. Threads load this file as their configuration; inline
// runs use it in memory.

const pricing = { events: { page: '0.0020', figure: '0.0300' }, maxUsd: '0.1000' }
const priceUsd = '0.0100'
const files = { begun: z.string().optional(), release: z.string().optional() }
const anything = z.record(z.string(), z.unknown())

async function untilReleased({ begun, release }: { begun?: string | undefined; release?: string | undefined }) {
  if (begun !== undefined) writeFileSync(begun, '')
  while (release !== undefined && !existsSync(release)) await pause(5)
}

function attempt<Value>(what: () => Value): Value | string {
  try {
    return what()
  } catch (error) {
    return (error as Error).message
  }
}

/** Invalid progress values, by the name that tests use. */
const odd: Record<string, unknown> = {
  'a number': 7,
  'a fraction above 1': { fraction: 1.1 },
  'a fraction that is none': { fraction: NaN },
  'a message that is no text': { message: 7 },
  'a field that it has not': { percent: 50 },
  'a megabyte': { data: 'x'.repeat(1024 * 1024) },
  'a circle': { data: circle() },
  'a bigint': { data: 1n },
  'a function': { data: () => {} },
  depths: { data: nested(600) },
}

function circle(): object {
  const one: { self?: object } = {}
  one.self = one
  return one
}

function nested(levels: number): unknown {
  let value: unknown = 0
  for (let level = 0; level < levels; level++) value = [value]
  return value
}

/** Functions that a run of `late` leaves for the next run to call. */
let left: Pick<TaskRun, 'progress' | 'charge'> | undefined

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'tell',
      name: 'Teller',
      endpoints: {
        steps: defineEndpoint({
          description: 'Tells steps, waits for its file, and tells the last one.',
          priceUsd,
          retries: 1,
          params: z.object({ steps: z.number().default(2), fails: z.boolean().default(false), ...files }),
          run: async ({ params, progress }) => {
            for (let step = 1; step <= params.steps; step++) {
              progress({ fraction: step / 10, message: `Step ${step}`, data: { step } })
            }
            await untilReleased(params)
            progress({ fraction: 1, message: 'Done' })
            if (params.fails) throw new Error('told to')
            return {}
          },
        }),
        logs: defineEndpoint({
          description: 'Logs lines, reports messages, and may fail.',
          priceUsd,
          params: z.object({ lines: z.array(z.array(z.unknown())), steps: z.array(z.string()), fails: z.boolean() }),
          run: async ({ log, params, progress }) => {
            for (const line of params.lines) log(...(line as [string]))
            for (const message of params.steps) {
              progress({ message })
              await pause(101)
            }
            if (params.fails) throw new Error('told to')
            return {}
          },
        }),
        flood: defineEndpoint({
          description: 'Tells so often without a pause.',
          priceUsd,
          params: z.object({ times: z.number() }),
          run: ({ params, progress }) => {
            for (let at = 1; at <= params.times; at++) progress({ fraction: at / params.times, data: { at } })
            return { told: params.times }
          },
        }),
        odd: defineEndpoint({
          description: 'Tells what is no progress, and answers what that throws.',
          priceUsd,
          params: anything,
          run: ({ progress }) => {
            progress({ message: 'before' })
            return Object.fromEntries(
              Object.entries(odd).map(([what, value]) => [what, attempt(() => progress(value as object)) ?? 'taken']),
            )
          },
        }),
        late: defineEndpoint({
          description: 'Answers what the progress and charge of its last run do, which has ended.',
          pricing,
          params: anything,
          run: ({ charge, progress }) => {
            const before = left
            left = { charge, progress }
            charge('page', 2)
            return {
              progress: attempt(() => before?.progress({ message: 'late' })) ?? 'nothing',
              charge: attempt(() => before?.charge('page', 3)) ?? 'nothing',
            }
          },
        }),
        pages: defineEndpoint({
          description: 'Charges what it is told and answers how many of each were within the most.',
          pricing,
          retries: 1,
          params: z.object({
            charges: z.array(z.tuple([z.string(), z.number().optional()])),
            fails: z.boolean().default(false),
            ...files,
          }),
          run: async ({ charge, params }) => {
            const charged = params.charges.map(([event, count]) => attempt(() => charge(event, count)))
            await untilReleased(params)
            if (params.fails) throw new Error('told to')
            return { charged }
          },
        }),
        fixed: defineEndpoint({
          description: 'Charges, though its price is fixed.',
          priceUsd,
          params: anything,
          run: ({ charge }) => ({ charged: attempt(() => charge('page')) }),
        }),
        echo: defineEndpoint({ description: 'Behaves.', priceUsd, params: anything, run: ({ params }) => params }),
      },
    },
  ],
})
