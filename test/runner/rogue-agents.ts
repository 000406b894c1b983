import { existsSync, writeFileSync } from 'node:fs'
import { exit } from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { threadId } from 'node:worker_threads'
import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../server/agents/config/define-config.ts'
import { returnValue, throwValue } from './odd-values.ts'

// Configuration file for threads, with misbehaving agents. They communicate through files, because a blocked thread can
// neither send nor receive.

const priceUsd = '0.0100'
const anything = z.record(z.string(), z.unknown())
const what = z.object({ what: z.string() })
const files = z.object({
  /** File that the run writes when it starts. */
  begun: z.string(),
  /** The run ends when this file exists. */
  release: z.string(),
})

function blockForEver(begun: string): never {
  writeFileSync(begun, '')
  for (;;) continue
}

async function untilReleased({ begun, release }: z.output<typeof files>): Promise<{ threadId: number }> {
  writeFileSync(begun, '')
  while (!existsSync(release)) await pause(5)
  return { threadId }
}

export default defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'rogue',
      name: 'Rogue agent',
      endpoints: {
        echo: defineEndpoint({ description: 'Behaves.', priceUsd, params: anything, run: ({ params }) => params }),
        thread: defineEndpoint({
          description: 'Names its thread.',
          priceUsd,
          params: anything,
          run: () => ({ threadId }),
        }),
        throw: defineEndpoint({
          description: 'Throws.',
          priceUsd,
          params: what,
          run: ({ params }) => throwValue(params.what),
        }),
        return: defineEndpoint({
          description: 'Returns.',
          priceUsd,
          params: what,
          run: ({ params }) => returnValue(params.what),
        }),
        hold: defineEndpoint({
          description: 'Waits for its file.',
          priceUsd,
          params: files,
          run: ({ params }) => untilReleased(params),
        }),
        holdRetried: defineEndpoint({
          description: 'Waits for its file, and may be run again twice.',
          priceUsd,
          retries: 2,
          params: files,
          run: ({ params }) => (existsSync(params.begun) ? { again: true } : untilReleased(params)),
        }),
        block: defineEndpoint({
          description: 'Blocks its thread until its file exists.',
          priceUsd,
          params: files,
          run: ({ params }) => {
            writeFileSync(params.begun, '')
            while (!existsSync(params.release)) continue
            return { threadId }
          },
        }),
        spin: defineEndpoint({
          description: 'Blocks its thread for ever.',
          priceUsd,
          timeoutSeconds: 3,
          params: z.object({ begun: z.string() }),
          run: ({ params }) => blockForEver(params.begun),
        }),
        spinBriefly: defineEndpoint({
          description: 'Blocks its thread for ever and has little time.',
          priceUsd,
          timeoutSeconds: 1,
          params: z.object({ begun: z.string() }),
          run: ({ params }) => blockForEver(params.begun),
        }),
        stubborn: defineEndpoint({
          description: 'Never ends and ignores its signal.',
          priceUsd,
          timeoutSeconds: 1,
          params: anything,
          run: () => new Promise(() => {}),
        }),
        rejectAfterAbort: defineEndpoint({
          description: 'Rejects when it is aborted, and again when its run is long over.',
          priceUsd,
          timeoutSeconds: 1,
          params: anything,
          run: ({ signal }) =>
            new Promise((_, reject) => {
              signal.addEventListener('abort', () => {
                void pause(20).then(() => Promise.reject(new Error('after the end')))
                reject(new Error('aborted'))
                throw new Error('thrown by a listener')
              })
            }),
        }),
        leaveBehind: defineEndpoint({
          description: 'Ends well, and leaves a timer that throws and a promise that rejects.',
          priceUsd,
          params: anything,
          run: () => {
            setTimeout(() => {
              throw new Error('thrown by a timer')
            }, 10)
            setTimeout(() => void Promise.reject(new Error('rejected by a timer')), 10)
            return { left: 'behind' }
          },
        }),
        exit: defineEndpoint({ description: 'Exits.', priceUsd, params: anything, run: () => process.exit(1) }),
        exitByName: defineEndpoint({
          description: 'Exits by the imported function.',
          priceUsd,
          params: anything,
          run: () => exit(1),
        }),
        endThread: defineEndpoint({
          description: 'Lets an error end its thread.',
          priceUsd,
          params: anything,
          run: () => {
            process.removeAllListeners('uncaughtException')
            setTimeout(() => {
              throw new Error('the last of this thread')
            })
            return new Promise(() => {})
          },
        }),
        abort: defineEndpoint({
          description: 'Aborts the process.',
          priceUsd,
          params: anything,
          run: () => process.abort(),
        }),
        memory: defineEndpoint({
          description: 'Takes memory without end.',
          priceUsd,
          params: anything,
          run: () => {
            const kept: object[] = []
            for (;;) kept.push(Array.from({ length: 10_000 }, (_, index) => ({ index })))
          },
        }),
        flood: defineEndpoint({
          description: 'Logs, prints, or leaves rejections behind, that many times.',
          priceUsd,
          params: z.object({ what: z.enum(['log', 'print', 'reject']), times: z.number() }),
          run: ({ params, log }) => {
            for (let line = 0; line < params.times; line++) {
              if (params.what === 'log') log('a flood of the log', { line })
              else if (params.what === 'print') console.log('a flood of standard output')
              else void Promise.reject(new Error('a flood of rejections'))
            }
            return {}
          },
        }),
      },
    },
  ],
})
