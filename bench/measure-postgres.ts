import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { startDatabase, type BenchDatabase } from './bench-database.ts'
import type { BenchUser } from './bench-data.ts'
import { startProcess } from './bench-process.ts'
import { atLeast, type Measure, type Row } from './bench-table.ts'
import { drive, requestBytes } from './http-driver.ts'
import { median, medianRatio } from './paired-rates.ts'
import { drained, driveAll, inTurn, startNodes, taskRequests } from './postgres-side.ts'

const connections = 32
/** Number of database connections, the same for the pool of a node and for the baseline. */
const databaseConnections = 10
const acceptOnly = { ERRAND_TASK_CONCURRENCY: '0' }
const unlimited = { ERRAND_EXECUTIONS_PER_MINUTE: '0' }

type Sizes = { users: readonly BenchUser[]; rounds: number; perRound: number }

/** Compares the service on PostgreSQL with a bare client that writes the same transactions. */
export const measurePostgres: Measure = async ({ isQuick, users }) => {
  const sizes = isQuick ? { users, rounds: 6, perRound: 600 } : { users, rounds: 10, perRound: 3000 }
  const database = await startDatabase()
  try {
    const rows = await submissions(database, sizes)
    rows.push(...(await reads(database, sizes)))
    rows.push(...(await throughTasks(database, sizes)))
    rows.push(...(await atRest(database, sizes)))
    return rows
  } finally {
    await database.stop()
  }
}

async function submissions(database: BenchDatabase, { perRound, rounds, users }: Sizes): Promise<Row[]> {
  const file = fileURLToPath(new URL('./floor/postgres-floor.ts', import.meta.url))
  const floor = await startProcess([file, await database.newDatabase(users), String(databaseConnections)], {})
  const nodes = await startNodes(await database.newDatabase(users), { roles: ['all'], env: acceptOnly })
  const hot = await startNodes(await database.newDatabase(users.slice(0, 1)), {
    roles: ['all'],
    env: { ...acceptOnly, ...unlimited },
  })
  const requests = taskRequests(users)
  const hotRequests = taskRequests(users.slice(0, 1))
  const [server] = nodes.servers
  const rates: Record<'floor' | 'ours' | 'hot', number[]> = { floor: [], ours: [], hot: [] }
  const p50: number[] = []
  const p99: number[] = []
  const cpu = { floor: 0, floorDatabase: 0, ours: 0, oursDatabase: 0 }
  for (let round = 0; round <= rounds; round++) {
    const before = { floor: floor.cpuSeconds(), database: database.cpuSeconds() }
    const answer = (await (await fetch(`${floor.url}/?count=${perRound}`)).json()) as { seconds: number }
    const between = { floor: floor.cpuSeconds(), database: database.cpuSeconds(), ours: server!.cpuSeconds() }
    const next = inTurn(requests, perRound, round * perRound)
    const driven = await driveAll(nodes.servers, { connections, next })
    const after = { database: database.cpuSeconds(), ours: server!.cpuSeconds() }
    const ofHot = await driveAll(hot.servers, { connections, next: inTurn(hotRequests, Math.ceil(perRound / 4)) })
    // Do not count the warm-up round.
    if (round === 0) continue
    rates.floor.push(perRound / answer.seconds)
    rates.ours.push(driven.perSecond)
    rates.hot.push(ofHot.perSecond)
    p50.push(driven.p50Ms)
    p99.push(driven.p99Ms)
    cpu.floor += between.floor - before.floor
    cpu.floorDatabase += between.database - before.database
    cpu.ours += after.ours - between.ours
    cpu.oursDatabase += after.database - between.database
  }
  await hot.stop()
  await nodes.stop()
  await floor.stop()
  const us = (what: string, seconds: number): Row => {
    return { what, value: (seconds * 1e6) / (rounds * perRound), unit: 'µs' }
  }
  const value = median(rates.ours)
  return [
    { what: 'floor on PostgreSQL: the transaction alone', value: median(rates.floor), unit: '/s' },
    atLeast(
      {
        what: 'POST /api/tasks on PostgreSQL, 32 connections',
        value,
        unit: '/s',
        against: 'PostgreSQL floor',
        ratio: medianRatio(rates.ours, rates.floor),
      },
      0.6,
    ),
    { what: 'the same, p50', value: median(p50), unit: 'ms' },
    { what: 'the same, p99', value: median(p99), unit: 'ms' },
    us('CPU of the floor, a submission', cpu.floor),
    us('CPU of PostgreSQL, a submission of the floor', cpu.floorDatabase),
    us('CPU of the service, a submission', cpu.ours),
    us('CPU of PostgreSQL, a submission of the service', cpu.oursDatabase),
    {
      what: 'POST /api/tasks of one account',
      value: median(rates.hot),
      unit: '/s',
      against: 'many accounts',
      ratio: medianRatio(rates.hot, rates.ours),
    },
  ]
}

async function reads(database: BenchDatabase, { perRound, rounds, users }: Sizes): Promise<Row[]> {
  const nodes = await startNodes(await database.newDatabase(users), { roles: ['all'] })
  const [server] = nodes.servers
  const owners = users.slice(0, 500)
  const requests: Buffer[] = []
  let answered = 0
  const onBody = (body: string) => {
    const { taskId } = JSON.parse(body) as { taskId: string }
    requests.push(requestBytes('GET', `/api/tasks/${taskId}`, { key: owners[answered++]!.key }))
  }
  // Use a single connection, so that responses arrive in the order of the users.
  await drive({ url: server!.url, connections: 1, next: inTurn(taskRequests(owners), owners.length), onBody })
  await drained(nodes.pool)
  const rates: number[] = []
  for (let round = 0; round <= rounds; round++) {
    const driven = await driveAll(nodes.servers, { connections, next: inTurn(requests, perRound) })
    if (round > 0) rates.push(driven.perSecond)
  }
  await nodes.stop()
  return [{ what: 'GET /api/tasks/:id on PostgreSQL', value: median(rates), unit: '/s' }]
}

/** Measures the rates of no-op tasks, from creation to stored completion, and of chats with one event. */
async function throughTasks(database: BenchDatabase, { perRound, users }: Sizes): Promise<Row[]> {
  const nodes = await startNodes(await database.newDatabase(users), { roles: ['all'], env: unlimited })
  const [server] = nodes.servers
  const requests = taskRequests(users)
  const rates: number[] = []
  for (let round = 0; round <= 3; round++) {
    const { seconds } = await driveAll(nodes.servers, { connections, next: inTurn(requests, perRound) })
    const perSecond = perRound / (seconds + (await drained(nodes.pool)))
    if (round > 0) rates.push(perSecond)
  }
  const owners = users.slice(0, 300)
  const sessions = owners.map(({ key }) =>
    requestBytes('POST', '/api/sessions', { key, body: JSON.stringify({ agentId: 'benchchat' }) }),
  )
  const chats: Buffer[] = []
  const onBody = (body: string) => {
    const { sessionId } = JSON.parse(body) as { sessionId: string }
    const chat = JSON.stringify({ sessionId, message: 'events 1' })
    chats.push(requestBytes('POST', '/api/chat', { key: owners[chats.length]!.key, body: chat }))
  }
  await drive({ url: server!.url, connections: 1, next: inTurn(sessions, sessions.length), onBody })
  await driveAll(nodes.servers, { connections, next: inTurn(chats, chats.length) })
  const chat = await driveAll(nodes.servers, { connections, next: inTurn(chats, chats.length * 2) })
  await nodes.stop()
  return [
    { what: 'no-op tasks on PostgreSQL, created to completed', value: median(rates), unit: '/s' },
    { what: 'chats of one event on PostgreSQL', value: chat.perSecond, unit: '/s' },
  ]
}

/** Measures the latency of one task at a time on an otherwise idle service, with the database's clock. */
async function atRest(database: BenchDatabase, { users }: Sizes): Promise<Row[]> {
  const nodes = await startNodes(await database.newDatabase(users.slice(0, 1)), { roles: ['all'], env: unlimited })
  const one = taskRequests(users.slice(0, 1))
  for (let sent = 0; sent < 60; sent++) {
    await driveAll(nodes.servers, { connections: 1, next: inTurn(one, 1) })
    await drained(nodes.pool)
    await sleep(30)
  }
  const { rows } = await nodes.pool.query(
    `SELECT (started_at - created_at)::float8 AS "pickUp", (completed_at - created_at)::float8 AS end
     FROM tasks ORDER BY seq OFFSET 10`,
  )
  await nodes.stop()
  const waits = rows as { pickUp: number; end: number }[]
  return [
    { what: 'a task at rest, admitted to taken up', value: median(waits.map(({ pickUp }) => pickUp)), unit: 'ms' },
    { what: 'a task at rest, admitted to completed', value: median(waits.map(({ end }) => end)), unit: 'ms' },
  ]
}
