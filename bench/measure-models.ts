import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { BenchData, BenchUser } from './bench-data.ts'
import { atLeast, atMost, type Measure, type Row } from './bench-table.ts'
import { floorDeltas, modelChats, runFloor, withModelServers, type ModelServers } from './model-servers.ts'
import { readPaced, type PacedReading } from './paced-reader.ts'
import { median, medianRatio } from './paired-rates.ts'
import { connectStream } from './stream-driver.ts'

const fastStreams = 200
const fastDeltas = 500
const pacedStreams = 500
const pacedEveryMs = 100
/** Delay between the starts of two paced streams, so that the deltas of all streams are spread over time. */
const staggerMs = 4
const crowd = 16
/** Time for the load to settle after the streams have started. */
const settleMs = 2000
const beginMsMax = 60_000

/**
 * Compares model agents with the AI SDK's own loop over the same provider. Measures deltas per second, time to the
 * first delta, and CPU time.
 */
export const measureModels: Measure = async (data) =>
  await withModelServers(data.template, async (servers) => [
    ...(await fastRows(servers, data)),
    ...(await firstRows(servers, data)),
    ...(await crowdRows(servers, data)),
    ...(await pacedRows(servers, data)),
  ])

type Options = BenchData & { isQuick: boolean }

async function fastRows(servers: ModelServers, { isQuick, users }: Options): Promise<Row[]> {
  const rounds = isQuick ? 4 : 10
  const message = `events ${fastDeltas}`
  const sides = {
    floor: async () => {
      const { deltas, seconds } = await runFloor(servers.floor, { streams: fastStreams, prompt: message })
      return { deltas, seconds }
    },
    ours: async () => await streamAll(servers, { users, message }),
  }
  const rates = { floor: [] as number[], ours: [] as number[] }
  // The first round is a warm-up and is discarded.
  for (let round = 0; round <= rounds; round++) {
    for (const side of round % 2 === 0 ? (['floor', 'ours'] as const) : (['ours', 'floor'] as const)) {
      const { deltas, seconds } = await sides[side]()
      if (deltas !== fastStreams * fastDeltas) throw new Error(`${side}: ${deltas} deltas`)
      if (round > 0) rates[side].push(deltas / seconds)
    }
  }
  const ratio = medianRatio(rates.ours, rates.floor)
  const what = `deltas of a model through ${fastStreams} streams`
  return [
    { what: `floor: ${what}`, value: median(rates.floor), unit: '/s' },
    atLeast({ what, value: median(rates.ours), unit: '/s', against: "the AI SDK's loop alone", ratio }, 0.8),
  ]
}

/** Sends all chats simultaneously, each on its own connection, and reads every stream to its end. */
async function streamAll({ ours }: ModelServers, { message, users }: { users: readonly BenchUser[]; message: string }) {
  const requests = await modelChats(ours, { users, count: fastStreams, message })
  const connections = await Promise.all(requests.map(async () => await connectStream(ours.url)))
  const from = performance.now()
  const ends = await Promise.all(requests.map(async (request, index) => await connections[index]!.open(request).ended))
  const seconds = (performance.now() - from) / 1000
  for (const connection of connections) connection.close()
  // The last event of each stream is not a delta.
  return { deltas: ends.reduce((sum, { events }) => sum + events - 1, 0), seconds }
}

/**
 * Measures the time to the first delta on an idle server, alternating between a chat and a reply from the AI SDK alone.
 */
export async function firstRows({ floor, ours }: ModelServers, { isQuick, users }: Options): Promise<Row[]> {
  const pairs = isQuick ? 50 : 200
  // Enough runs for V8 to compile the code in every thread.
  const warmUps = 200
  const requests = await modelChats(ours, { users, count: pairs + warmUps, message: 'first' })
  const connection = await connectStream(ours.url)
  const waits = { floor: [] as number[], ours: [] as number[] }
  const sides = {
    floor: async () => (await runFloor(floor, { streams: 1, prompt: 'first' })).firstDeltaMs,
    ours: async (pair: number) => (await connection.open(requests[pair]!).ended).firstEventMs,
  }
  for (let pair = 0; pair < pairs + warmUps; pair++) {
    for (const side of pair % 2 === 0 ? (['floor', 'ours'] as const) : (['ours', 'floor'] as const)) {
      const ms = await sides[side](pair)
      if (pair >= warmUps) waits[side].push(ms)
    }
  }
  connection.close()
  const added = median(waits.ours) - median(waits.floor)
  return [
    { what: 'floor: first delta of a model, idle', value: median(waits.floor), unit: 'ms' },
    atMost({ what: 'first delta of a model, idle, beyond the floor', value: added, unit: 'ms' }, 2),
  ]
}

/**
 * Measures the slowest first delta of chats that start simultaneously, alternating with the same number of replies from
 * the AI SDK alone.
 */
async function crowdRows({ floor, ours }: ModelServers, { isQuick, users }: Options): Promise<Row[]> {
  const rounds = isQuick ? 20 : 60
  const slowest = { floor: [] as number[], ours: [] as number[] }
  const connections = await Promise.all(Array.from({ length: crowd }, async () => await connectStream(ours.url)))
  for (let round = 0; round < rounds; round++) {
    const requests = await modelChats(ours, { users, count: crowd, message: 'first' })
    const ends = await Promise.all(
      requests.map(async (request, index) => await connections[index]!.open(request).ended),
    )
    slowest.ours.push(Math.max(...ends.map(({ firstEventMs }) => firstEventMs)))
    slowest.floor.push((await runFloor(floor, { streams: crowd, prompt: 'first' })).firstDeltaMs)
  }
  for (const connection of connections) connection.close()
  const what = `slowest first delta of ${crowd} simultaneous chats`
  return [
    { what: `floor: ${what}`, value: median(slowest.floor), unit: 'ms' },
    { what, value: median(slowest.ours), unit: 'ms' },
    atMost({ what: `${what}, beyond the floor`, value: median(slowest.ours) - median(slowest.floor), unit: 'ms' }, 5),
  ]
}

/** Streams at the speed of real models. Measures whether all deltas arrive on time, and the CPU time of each delta. */
async function pacedRows(servers: ModelServers, { isQuick, users }: Options): Promise<Row[]> {
  const windowMs = isQuick ? 5000 : 20_000
  const bare = await pacedFloor(servers, windowMs)
  const { delivered, lags, micros } = await pacedOurs(servers, { users, windowMs })
  const quarter = Math.floor(lags.length / 4)
  const growth = median(lags.slice(-quarter)) - median(lags.slice(0, quarter))
  const name = `${pacedStreams} paced streams`
  const row = { what: `${name}: deltas`, value: delivered, unit: '/s' }
  const cpu = { what: `${name}: CPU of a delta, all threads`, value: micros.ours, unit: 'µs' }
  return [
    atLeast(
      { ...row, against: 'those that the model sends', ratio: (delivered * pacedEveryMs) / pacedStreams / 1000 },
      0.99,
    ),
    { what: `${name}: lag of a delta behind the model`, value: median(lags), unit: 'ms' },
    atMost({ what: `${name}: growth of the lag, last quarter`, value: growth, unit: 'ms' }, 5),
    { what: `floor: ${name}: CPU of a delta`, value: bare, unit: 'µs' },
    atMost({ ...cpu, against: "the AI SDK's loop alone", ratio: micros.ours / bare }, 120),
    { what: `${name}: CPU of a delta in the model's stub`, value: micros.stub, unit: 'µs' },
    { what: `${name}: CPU of a delta in the driver`, value: micros.driver, unit: 'µs' },
  ]
}

/** Returns the message for a reply that is longer than the measurement, so that it does not end too early. */
function pacedMessage(windowMs: number): string {
  return `paced ${Math.ceil((windowMs + settleMs + beginMsMax) / pacedEveryMs)} ${pacedEveryMs}`
}

async function pacedFloor({ floor }: ModelServers, windowMs: number): Promise<number> {
  const controller = new AbortController()
  const request = { streams: pacedStreams, prompt: pacedMessage(windowMs), staggerMs }
  const left = runFloor(floor, request, controller.signal).catch(() => undefined)
  await sleep(pacedStreams * staggerMs + settleMs)
  const before = { deltas: await floorDeltas(floor), seconds: floor.cpuSeconds() }
  await sleep(windowMs)
  const seconds = floor.cpuSeconds() - before.seconds
  const deltas = (await floorDeltas(floor)) - before.deltas
  controller.abort()
  await left
  return (seconds * 1e6) / deltas
}

type PacedOptions = { users: readonly BenchUser[]; windowMs: number }

async function pacedOurs({ ours, stub }: ModelServers, { users, windowMs }: PacedOptions) {
  const requests = await modelChats(ours, { users, count: pacedStreams, message: pacedMessage(windowMs) })
  const reading: PacedReading = { lags: [], begun: 0, error: undefined }
  const startedAt = performance.now()
  const sockets: Socket[] = []
  for (const [index, request] of requests.entries()) {
    await sleep(Math.max(0, startedAt + index * staggerMs - performance.now()))
    sockets.push(await readPaced(ours.url, request, reading))
  }
  while (reading.begun < pacedStreams && !reading.error) {
    if (performance.now() - startedAt > beginMsMax) throw new Error(`only ${reading.begun} streams began`)
    await sleep(20)
  }
  await sleep(settleMs)
  const cpu = () => ({ ours: ours.cpuSeconds(), stub: stub.cpuSeconds(), driver: driverSeconds() })
  const before = { at: performance.now(), count: reading.lags.length, cpu: cpu() }
  await sleep(windowMs)
  const seconds = (performance.now() - before.at) / 1000
  const after = cpu()
  const lags = reading.lags.slice(before.count)
  for (const socket of sockets) socket.destroy()
  if (reading.error) throw reading.error
  const micros = (side: keyof typeof after) => ((after[side] - before.cpu[side]) * 1e6) / lags.length
  return {
    delivered: lags.length / seconds,
    lags,
    micros: { ours: micros('ours'), stub: micros('stub'), driver: micros('driver') },
  }
}

function driverSeconds(): number {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}
