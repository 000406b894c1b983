import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchUser } from './bench-data.ts'
import { startServer, type BenchServer, type ServerKind } from './bench-servers.ts'
import { atLeast, atMost, type Measure, type Row } from './bench-table.ts'
import { chatRequests, openedAtOnce, streamAll } from './chat-streams.ts'
import { median, medianRatio, pairedRounds } from './paired-rates.ts'
import { connectStream, type StreamConnection } from './stream-driver.ts'

const loads = [
  { streams: 1, deltas: 50_000 },
  { streams: 50, deltas: 2000 },
  { streams: 500, deltas: 1000 },
]
const openStreams = 500
/** Chats with few events, in which admission and settlement account for much of the time. */
const shortChats = 200
const shortDeltas = 20
/** Streams opened in addition to `openStreams`, to measure how much memory they take. */
const furtherStreams = 2000
/** Time for garbage collection and deferred writes to finish. */
const settleMs = 2000

const envs: Partial<Record<ServerKind, Record<string, string>>> = {
  errand: { ERRAND_EXECUTIONS_PER_MINUTE: '0' },
}

/** Measures POST /api/chat: event throughput, latency of the first event, and memory per open stream. */
export const measureChat: Measure = async ({ isQuick, template, users }) => {
  const rows: Row[] = []
  for (const { deltas, streams } of loads) {
    const options = { template, users, streams, deltas: isQuick ? deltas / 5 : deltas, rounds: isQuick ? 4 : 8 }
    const { floor, ours } = await eventRates(options)
    const name = streams === 1 ? '1 stream' : `${streams} streams`
    rows.push({ what: `floor: events through ${name}`, value: median(floor), unit: '/s' })
    const ratio = medianRatio(ours, floor)
    const row = { what: `chat events through ${name}`, value: median(ours), unit: '/s', against: 'ndjson floor', ratio }
    rows.push(streams === openStreams ? atLeast(row, 0.6) : row)
  }
  const chats = await cappedChats({ template, users, count: shortChats, rounds: isQuick ? 8 : 24 })
  const capRatio = medianRatio(chats.capped, chats.plain)
  const perSecond = { value: median(chats.capped), unit: '/s', against: 'without', ratio: capRatio }
  rows.push(atLeast({ what: 'short chats with maxCostUsd, 200 at once', ...perSecond }, 0.97))
  const first = await firstEvents({ template, users, requests: isQuick ? 100 : 400 })
  const added = median(first.ours.map((ms, round) => ms - first.floor[round]!))
  rows.push({ what: 'floor: first event of a chat, idle', value: median(first.floor), unit: 'ms' })
  rows.push(atMost({ what: 'first event of a chat, idle, beyond the floor', value: added, unit: 'ms' }, 2))
  const ours = await memoryOfStream('errand', { template, users, servers: isQuick ? 1 : 3 })
  const floor = await memoryOfStream('floor-ndjson', { template, users, servers: isQuick ? 1 : 3 })
  rows.push({ what: 'floor: resident memory of an open stream', value: floor, unit: 'KB' })
  rows.push(
    atMost({ what: 'resident memory of an open stream, beyond the floor', value: ours - floor, unit: 'KB' }, 30),
  )
  return rows
}

type Chats = { template: string; users: readonly BenchUser[] }

async function eventRates(options: Chats & { streams: number; deltas: number; rounds: number }) {
  const { deltas, rounds, streams, template, users } = options
  const side = (kind: ServerKind) => {
    const round = async (server: BenchServer): Promise<number> => {
      const requests = await chatRequests(server, { kind, users, count: streams, message: `events ${deltas}` })
      const { seconds } = await streamAll(server, requests, { events: deltas + 1 })
      return (streams * (deltas + 1)) / seconds
    }
    return { kind, env: envs[kind], round }
  }
  return await pairedRounds({ floor: side('floor-ndjson'), ours: side('errand') }, { rounds, template })
}

async function cappedChats({ count, rounds, template, users }: Chats & { count: number; rounds: number }) {
  const side = (more: object) => {
    const kind: ServerKind = 'errand'
    const round = async (server: BenchServer): Promise<number> => {
      const requests = await chatRequests(server, { kind, users, count, message: `events ${shortDeltas}`, more })
      const { seconds } = await streamAll(server, requests, { events: shortDeltas + 1 })
      return count / seconds
    }
    return { kind, env: envs[kind], round }
  }
  return await pairedRounds({ plain: side({}), capped: side({ maxCostUsd: '1.0000' }) }, { rounds, template })
}

/**
 * Returns the median milliseconds to the first event in each round. Sends the requests one after the other on one
 * connection.
 */
async function firstEvents({ requests: count, template, users }: Chats & { requests: number }) {
  const side = (kind: ServerKind) => {
    const round = async (server: BenchServer): Promise<number> => {
      const requests = await chatRequests(server, { kind, users, count, message: 'first' })
      const connection = await connectStream(server.url)
      const waits: number[] = []
      for (const request of requests) waits.push((await connection.open(request).ended).firstEventMs)
      connection.close()
      return median(waits)
    }
    return { kind, env: envs[kind], round }
  }
  return await pairedRounds({ floor: side('floor-ndjson'), ours: side('errand') }, { rounds: 6, template })
}

/** Returns how many kilobytes of memory a server needs per open stream, as the median of several servers. */
async function memoryOfStream(kind: ServerKind, { servers, template, users }: Chats & { servers: number }) {
  const grown: number[] = []
  for (let run = 0; run < servers; run++) {
    // Start the baseline server with the same young-generation size as the service. The default size would dominate its
    // memory.
    const env = kind === 'floor-ndjson' ? { NODE_OPTIONS: '--max-semi-space-size=4' } : envs[kind]
    const server = await startServer(kind, { template, ...(env && { env }) })
    try {
      grown.push(await growthOfStream(server, { kind, users }))
    } finally {
      await server.stop()
    }
  }
  return median(grown)
}

/**
 * Returns the memory growth between few and many open streams. The first streams fill the heap space that sessions and
 * earlier streams have freed. Without them, the later streams would seem to take no memory.
 */
export async function growthOfStream(server: BenchServer, of: { kind: ServerKind; users: readonly BenchUser[] }) {
  const few = await chatRequests(server, { ...of, count: openStreams, message: 'hold' })
  const more = await chatRequests(server, { ...of, count: furtherStreams, message: 'hold' })
  const held = await openAll(server, few)
  await sleep(settleMs)
  const before = server.residentMb()
  held.push(...(await openAll(server, more)))
  await sleep(settleMs)
  const grownMb = server.residentMb() - before
  for (const connection of held) connection.close()
  return (grownMb * 1024) / furtherStreams
}

async function openAll(server: BenchServer, requests: readonly Buffer[]): Promise<StreamConnection[]> {
  const connections: StreamConnection[] = []
  for (let from = 0; from < requests.length; from += openedAtOnce) {
    const some = requests.slice(from, from + openedAtOnce).map(async (request) => {
      const connection = await connectStream(server.url)
      await connection.open(request).begun
      return connection
    })
    connections.push(...(await Promise.all(some)))
  }
  return connections
}
