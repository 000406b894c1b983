import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KeptTurns } from '../server/chat/events/kept-turns.ts'
import { SystemClock } from '../server/kernel/clock.ts'
import type { ChatTurn } from '../server/chat/chat-turn.ts'
import { openSqliteStore } from '../server/store/sqlite/sqlite-store.ts'
import type { BenchUser } from './bench-data.ts'
import type { BenchServer } from './bench-servers.ts'
import { atMost, type Measure, type Row } from './bench-table.ts'
import { chatRequests, streamAll } from './chat-streams.ts'
import { median, medianRatio, pairedRounds } from './paired-rates.ts'

const streams = 50
const deltas = 2000
/** Lines of one server-sent event: its id, type, data and an empty line. */
const sseLines = 4
const detachedTurns = 500
const detachedSeconds = 5
const deltasPerSecond = 40

const unlimited = {
  executionsPerMinute: 0,
  abuseFailures: 0,
  abuseWindowSeconds: 60,
  abuseBlockSeconds: 60,
  abuseBlockMaxSeconds: 60,
  maxWrittenOffUsdPerDay: 0,
  payloadBytesPerDay: 0,
  connectorBlockSeconds: 0,
  connectorTasksAtWork: 0,
  sessionIdleSeconds: 86_400,
  leaseSeconds: 15,
}

/** Measures the CPU cost of each format of a reply, and of storing the events of replies without a reader. */
export const measureStreams: Measure = async ({ isQuick, template, users }) => {
  const rows: Row[] = []
  const side = (more: { body?: object; headers?: string; lines?: number }) => ({
    kind: 'errand' as const,
    env: { ERRAND_EXECUTIONS_PER_MINUTE: '0' },
    round: (server: BenchServer) => cpuOfEvents(server, { users, ...more }),
  })
  const { goingOn, plain, sse } = await pairedRounds(
    {
      plain: side({}),
      sse: side({ headers: 'Accept: text/event-stream\r\n', lines: sseLines }),
      goingOn: side({ body: { onDisconnect: 'continue' } }),
    },
    { rounds: isQuick ? 6 : 12, template },
  )
  rows.push({ what: 'CPU of a chat event, NDJSON', value: median(plain), unit: 'µs' })
  for (const [what, costs] of [
    ['the same as server-sent events', sse],
    ["the same with onDisconnect 'continue'", goingOn],
  ] as const) {
    const ratio = medianRatio(costs, plain)
    const row = { what, value: median(costs), unit: 'µs', against: 'NDJSON', ratio, bar: '≤ 1.1', isMet: ratio <= 1.1 }
    rows.push(row)
  }
  const keeping = await costOfKeeping(isQuick ? 4 : 8)
  rows.push(
    atMost({ what: `keeping the events of ${detachedTurns} detached turns, of a core`, value: keeping, unit: '%' }, 5),
  )
  return rows
}

type OfEvents = { users: readonly BenchUser[]; body?: object; headers?: string; lines?: number }

async function cpuOfEvents(server: BenchServer, { body = {}, headers = '', lines = 1, users }: OfEvents) {
  const message = `events ${deltas}`
  const requests = await chatRequests(server, { kind: 'errand', users, count: streams, message, more: body, headers })
  const before = server.cpuSeconds()
  await streamAll(server, requests, { events: (deltas + 1) * lines })
  return ((server.cpuSeconds() - before) * 1e6) / (streams * (deltas + 1))
}

/**
 * Returns how much more CPU a process needs if it stores the events of turns, as a percentage of a core. Uses SQLite,
 * whose commits run in the process itself.
 */
async function costOfKeeping(rounds: number): Promise<number> {
  const differences: number[] = []
  for (let round = 0; round < rounds; round++) {
    const without = await cpuOfDetached('stop')
    differences.push((await cpuOfDetached('continue')) - without)
  }
  return (median(differences) / detachedSeconds) * 100
}

async function cpuOfDetached(onDisconnect: 'stop' | 'continue'): Promise<number> {
  const line = (seq: number) =>
    `{"type":"assistant_delta","timestamp":"2026-01-01T00:00:00.000Z","seq":${seq},"delta":"and so the words come"}\n`
  const dataDir = mkdtempSync(join(tmpdir(), 'errand-bench-streams-'))
  const store = openSqliteStore({
    dataDir,
    limits: unlimited,
    clock: () => new SystemClock(),
    onFatal: (cause) => {
      throw cause
    },
  })
  const kept = new KeptTurns({ log: console, store })
  const until = performance.now() + detachedSeconds * 1000
  const before = process.cpuUsage()
  const ends = Array.from({ length: detachedTurns }, async (_, turn) => {
    let lastSeq = 0
    const ended = Promise.withResolvers<void>()
    const source = {
      turnId: `turn_${turn}`,
      get lastSeq() {
        return lastSeq
      },
      isEnding: false,
      next: async () => {
        if (performance.now() > until) {
          ended.resolve()
          return undefined
        }
        await new Promise((resolve) => setTimeout(resolve, 1000 / deltasPerSecond))
        return line(++lastSeq)
      },
      stop: () => {},
    }
    const of = { userId: 'user', sessionId: 'session', onDisconnect }
    kept.add(source as unknown as ChatTurn, of).leave()
    await ended.promise
  })
  await Promise.all(ends)
  await kept.close()
  const { system, user } = process.cpuUsage(before)
  const isKept = (await store.turnEvents.read({ turnId: 'turn_0', after: 0, charsMax: 1 })).length > 0
  await store.close()
  rmSync(dataDir, { recursive: true })
  if (isKept !== (onDisconnect === 'continue')) throw new Error(`the events are ${isKept ? '' : 'not '}kept`)
  return (system + user) / 1e6
}
