import { rmSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { ChatReader } from '../support/chat-reader.ts'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { demand, demandEqual } from '../support/until.ts'
import { checkRows, unlimited } from './fault-invariants.ts'
import { call, FaultLoad, openRichAccount } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport, type Tally } from './fault-report.ts'
import { residentBytes } from './slow-reader.ts'

const minuteMs = 60_000
/** Memory setting of `npm run errand`. */
const memory = { NODE_OPTIONS: '--max-semi-space-size=4' }
/** Maximum growth of the median memory from the third to the last quarter. */
const grownMbMax = 10

/** Runs a mix of all user actions for `times` minutes. Resident memory must stop growing. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('long-load', options, async (tally) => {
    const dataDir = newDataDir()
    const account = await openRichAccount(dataDir)
    const load = new FaultLoad(account, tally.random)
    const server = await startProcess({ dataDir, env: { ...unlimited, ...memory } })
    const stopped = new AbortController()
    const { signal } = stopped
    const rest = { pauseMs: 1, clients: 3, talkers: 1, signal }
    const doing = Promise.all([
      load.run(server.url, rest),
      readAll(server, load, signal),
      talkShortly(server, load, signal),
    ])
    const broken = doing.then(() => new Promise<never>(() => {}))
    await tally.attempt('resident memory', () => Promise.race([watch(server, options, tally), broken]))
    stopped.abort()
    await tally.attempt('the load', () => doing.then(() => {}))
    tally.notes.push(`${load.accepted.size} tasks, ${load.charged.size} sessions`)
    await tally.attempt('the rows', async () => {
      demandEqual(load.unexpected, [], 'unexpected answers')
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
      checkRows(dataDir, load)
    })
    rmSync(dataDir, { recursive: true })
  })
}

async function watch({ child, url }: ServerProcess, { isShort, times }: FaultOptions, tally: Tally): Promise<void> {
  const everyMs = isShort ? 200 : minuteMs / 6
  const samples: number[] = []
  const count = isShort ? 8 : times * 6
  while (samples.length < count) {
    await delay(everyMs)
    samples.push(residentBytes(child.pid!) / 2 ** 20)
    if (isShort || samples.length % 30 !== 0) continue
    const heap = /^nodejs_heap_size_used_bytes.* (\d+)$/m.exec(await (await fetch(`${url}/metrics`)).text())?.[1]
    const last = samples.slice(-30)
    tally.notes.push(
      `${samples.length / 6} min: ${median(last).toFixed(0)} MB resident, at most ${Math.max(...last).toFixed(0)}; heap ${heap ? (Number(heap) / 2 ** 20).toFixed(0) : '?'} MB`,
    )
    tally.onProgress()
  }
  const quarter = Math.floor(samples.length / 4)
  const grown = median(samples.slice(-quarter)) - median(samples.slice(-2 * quarter, -quarter))
  tally.notes.push(`the median of the last quarter is ${grown.toFixed(1)} MB over that of the one before`)
  // In a run of seconds, memory is still growing.
  if (!isShort) demand(grown < grownMbMax, `resident memory grew by ${grown.toFixed(1)} MB in the last quarter`)
}

async function readAll(
  { url }: ServerProcess,
  { account, owners, charged }: FaultLoad,
  signal: AbortSignal,
): Promise<void> {
  const headers = { Authorization: `Bearer ${account.key}` }
  const get = async (path: string) => {
    const response = await fetch(new URL(path, url), { headers })
    demand(response.status < 500 || response.status === 503, `${path}: ${response.status}`)
    return Buffer.from(await response.arrayBuffer()).toString()
  }
  const paths = [
    '/api/tasks?limit=100',
    '/api/sessions?limit=100',
    '/api/balance',
    '/api/agents',
    '/',
    '/docs',
    '/metrics',
    '/api/nothing',
  ]
  for (let n = 0; !signal.aborted; n++) {
    await get(paths[n % paths.length]!)
    const sessionId = [...charged.keys()].at(-1)
    if (n % 5 === 0 && sessionId) await get(`/api/sessions/${sessionId}/messages?limit=100`)
    const taskId = [...owners.keys()].at(-30)
    if (n % 3 === 0 && taskId) {
      const { responseUri } = JSON.parse(await get(`/api/tasks/${taskId}`)) as { responseUri?: string }
      if (responseUri) await get(responseUri)
    }
    await delay(20)
  }
}

/** Creates short sessions and deletes them. */
async function talkShortly({ url }: ServerProcess, { account }: FaultLoad, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { body } = await call(url, account, ['POST', '/api/sessions', { agentId: 'talk' }])
    for (let n = 0; n < 3; n++) {
      const message = 'Some words.'
      await (await ChatReader.open({ url, key: account.key, body: { sessionId: body.sessionId, message } })).end()
    }
    await call(url, account, ['DELETE', `/api/sessions/${body.sessionId}`])
    await delay(20)
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}
