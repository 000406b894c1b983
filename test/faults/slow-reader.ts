import { readFileSync, rmSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { settings } from './fault-invariants.ts'
import { call, openRichAccount, type Account } from './fault-load.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { demand, demandEqual, until } from '../support/until.ts'

const replyBytes = 50_000_000
const delta = 'x'.repeat(2000)
const grownBytesMax = 20 * 2 ** 20
const pauseMs = 2000

export function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024
}

/** Reads a 50 MB chat reply and a stored response with clients that pause in the middle and continue later. */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('slow-reader', options, async (tally) => {
    const dataDir = newDataDir()
    const account = await openRichAccount(dataDir)
    const server = await startProcess({ dataDir, env: settings })
    try {
      await flood(server, account, { bytes: 20_000_000, isPaused: false })
      for (let n = 1; n <= options.times; n++) {
        await tally.attempt(`chat ${n}`, async () => {
          const grown = await flood(server, account, { bytes: replyBytes, isPaused: true })
          tally.notes.push(`chat: ${inMb(grown)} MB`)
          demand(grown <= grownBytesMax, `resident memory grew by ${inMb(grown)} MB`)
        })
      }
      await tally.attempt('a stored response', async () => {
        const grown = await download(server, account)
        tally.notes.push(`stored response: ${inMb(grown)} MB`)
        demand(grown <= grownBytesMax, `resident memory grew by ${inMb(grown)} MB`)
      })
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
    } finally {
      await server.end('SIGKILL')
    }
    rmSync(dataDir, { recursive: true })
  })
}

type Flood = { bytes: number; isPaused: boolean }

async function flood(server: ServerProcess, account: Account, { bytes, isPaused }: Flood): Promise<number> {
  const { body: session } = await call(server.url, account, ['POST', '/api/sessions', { agentId: 'talk' }])
  const message = say({ do: 'flood', times: bytes / delta.length, delta })
  const pid = server.child.pid!
  const before = residentBytes(pid)
  const reader = await ChatReader.open({
    url: server.url,
    key: account.key,
    body: { sessionId: session.sessionId, message },
  })
  let most = 0
  if (isPaused) {
    await reader.until('assistant_delta')
    reader.pause()
    most = await mostResident(pid)
    reader.resume()
  }
  const { error, type } = await reader.end()
  demandEqual({ error, type }, { type: 'done' }, 'the last line')
  const chars = reader.events.reduce((sum, { event }) => sum + (event.delta?.length ?? 0), 0)
  demandEqual(chars, bytes, 'characters of the reply')
  await call(server.url, account, ['DELETE', `/api/sessions/${session.sessionId}`])
  return most - before
}

async function download({ child, url }: ServerProcess, account: Account): Promise<number> {
  const params = { chars: replyBytes }
  const created = await call(url, account, ['POST', '/api/tasks', { endpointId: 'test.large', params }])
  const ended = await call(url, account, ['GET', `/api/tasks/${created.body.taskId}?wait=30`])
  demandEqual(ended.body.status, 'completed', 'the task with a large response')
  // Waits until the memory of the run is released. Releasing it later could hide the memory that the download takes.
  const before = await settledResident(child.pid!)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(ended.body.responseUri, resolve).on('error', reject)
  })
  let received = 0
  response.once('data', () => response.pause())
  response.on('data', (chunk: Buffer) => (received += chunk.length))
  const most = await mostResident(child.pid!)
  demand(received < replyBytes / 2, 'the download is held back')
  response.resume()
  await until('the download is whole', 30_000, () => response.complete)
  demand(received > replyBytes, `${received} bytes were received`)
  return most - before
}

/** Waits until the resident memory no longer falls, and returns it. */
async function settledResident(pid: number): Promise<number> {
  for (let before = residentBytes(pid); ;) {
    await delay(500)
    const now = residentBytes(pid)
    if (now >= before - 2 ** 20) return now
    before = now
  }
}

async function mostResident(pid: number): Promise<number> {
  let most = 0
  for (const endAt = Date.now() + pauseMs; Date.now() < endAt; await delay(20))
    most = Math.max(most, residentBytes(pid))
  return most
}

function inMb(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1)
}
