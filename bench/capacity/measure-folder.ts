import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createPlatformKey } from '../../server/auth/platform/manage-platform-keys.ts'
import { SystemClock } from '../../server/kernel/clock.ts'
import { openBenchStore } from '../bench-data.ts'
import { cpuSecondsOf, startCommand, startProcess, type BenchProcess } from '../bench-process.ts'
import { allocatorOptions, serveArguments } from '../bench-servers.ts'
import { atMost, type Row } from '../bench-table.ts'
import { drive, requestBytes, type DriveResult } from '../http-driver.ts'
import { untilIdle } from '../measure-lists.ts'
import { taskRequests } from '../postgres-side.ts'
import { median } from '../paired-rates.ts'
import type { YearOldFolder } from './year-old-folder.ts'

const starts = 3
const listTimes = 20
const connections = 16
/** Sets the load of POSTs to less than 160 a second. */
const pauseMs = 100
const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url))
const lists = [
  '',
  '?limit=100',
  '?status=completed',
  '?status=failed',
  '?agentId=bench',
  '?agentId=bench&status=failed',
  '?tag=kind:rare',
  '?offset=5000',
]

/** Starts the service in the data directory itself, because a copy of it would take up as much space again. */
export async function serve(dataDir: string, env: Record<string, string> = {}): Promise<BenchProcess> {
  const unlimited = { ERRAND_EXECUTIONS_PER_MINUTE: '0' }
  return await startProcess(serveArguments(dataDir), { ...allocatorOptions, ...unlimited, ...env })
}

/** Measures the time from the process start to the first response, with and without the file in the page cache. */
export async function measureStart({ dataDir, users }: YearOldFolder): Promise<Row[]> {
  const startOnce = async () => {
    const from = performance.now()
    const server = await serve(dataDir)
    let requests = 1
    const request = requestBytes('GET', '/api/account', { key: users[0]!.key })
    await drive({ url: server.url, connections: 1, next: () => (requests-- > 0 ? request : undefined) })
    const started = { ms: performance.now() - from, cpuMs: server.cpuSeconds() * 1000 }
    await server.stop()
    return started
  }
  const file = join(dataDir, 'errand.db')
  // Drops the pages of the file from the kernel's cache.
  execFileSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0'], { stdio: 'ignore' })
  const uncached = await startOnce()
  const cached: (typeof uncached)[] = []
  for (let run = 0; run < starts; run++) cached.push(await startOnce())
  return [
    atMost({ what: 'start to the first response, file not cached', value: uncached.ms, unit: 'ms' }, 2000),
    atMost({ what: 'start to the first response', value: median(cached.map(({ ms }) => ms)), unit: 'ms' }, 2000),
    { what: 'start to the first response, CPU', value: median(cached.map(({ cpuMs }) => cpuMs)), unit: 'ms' },
  ]
}

/** Measures the main thread's CPU time, because another thread checks the ledger after each start. */
export async function measureUserLists({ count, dataDir, users }: YearOldFolder): Promise<Row[]> {
  const store = openBenchStore(dataDir)
  const parts = { store, clock: new SystemClock(), log: { info: () => {} } as never }
  const { key: admin } = await createPlatformKey(parts, { adminId: null, input: { name: 'bench', scopes: ['users'] } })
  await store.close()
  const server = await serve(dataDir)
  const cpuMs = () =>
    Number(readFileSync(`/proc/${server.pid}/task/${server.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  const [heavy, typical] = users
  const perUser = (share: number) => `a user with ${Math.round(count * share).toLocaleString('en')} tasks`
  const requests = [
    ...[
      ...lists.map((query) => `/api/tasks${query}`),
      '/api/transactions',
      '/api/transactions?type=task_refund',
    ].flatMap((path) => [
      { path, of: perUser(0.9 / (users.length - 1)), key: typical!.key },
      { path, of: perUser(0.1), key: heavy!.key },
    ]),
    { path: '/api/users', of: 'the operator', key: admin },
  ]
  const rows: Row[] = []
  for (const { key, of, path } of requests) {
    const request = requestBytes('GET', path, { key })
    const send = async (times: number) =>
      await drive({ url: server.url, connections: 1, next: () => (times-- > 0 ? request : undefined) })
    await send(2)
    const before = cpuMs()
    const { statuses } = await send(listTimes)
    if (statuses[200] !== listTimes) throw new Error(`${path} answered ${JSON.stringify(statuses)}`)
    const value = (cpuMs() - before) / listTimes
    rows.push(atMost({ what: `CPU of GET ${path} by ${of}`, value, unit: 'ms' }, 10))
  }
  await server.stop()
  return rows
}

export async function measureVerify(folder: YearOldFolder): Promise<Row[]> {
  const { cpuS, load, output, residentMb, seconds, walMb } = await beside(folder, ['ledger', 'verify', '--json'])
  const { ok } = JSON.parse(output) as { ok: boolean }
  if (!ok) throw new Error(output)
  const millions = folder.count / 1e6
  return [
    { what: 'errand ledger verify beside a server', value: seconds, unit: 's' },
    { what: 'errand ledger verify, CPU', value: cpuS, unit: 's' },
    { what: 'errand ledger verify, CPU per million tasks', value: cpuS / millions, unit: 's' },
    { what: 'errand ledger verify, resident memory', value: residentMb, unit: 'MB' },
    { what: 'write-ahead log after the verification', value: walMb, unit: 'MB' },
    { what: 'POST during the verification, p99', value: load.p99Ms, unit: 'ms' },
    { what: 'POST during the verification, slowest', value: load.maxMs, unit: 'ms' },
  ]
}

export async function measureBackup(folder: YearOldFolder): Promise<Row[]> {
  const file = join(folder.dataDir, '..', `errand-bench-backup-${process.pid}.db`)
  try {
    const { cpuS, load, residentMb, seconds } = await beside(folder, ['backup', file])
    return [
      { what: 'errand backup beside a server', value: seconds, unit: 's' },
      { what: 'errand backup, CPU', value: cpuS, unit: 's' },
      { what: 'errand backup, resident memory', value: residentMb, unit: 'MB' },
      { what: 'size of the backup', value: statSync(file).size / 1e9, unit: 'GB' },
      { what: 'POST during the backup, p99', value: load.p99Ms, unit: 'ms' },
      { what: 'POST during the backup, slowest', value: load.maxMs, unit: 'ms' },
    ]
  } finally {
    rmSync(file, { force: true })
  }
}

/** Runs a command while the service runs and accepts tasks. */
async function beside({ dataDir, users }: YearOldFolder, words: readonly string[]) {
  const server = await serve(dataDir)
  // The server checks the ledger two seconds after its start.
  await sleep(3000)
  await untilIdle(server)
  const posts = taskRequests(users)
  let isRunning = true
  let sent = 0
  const next = () => (isRunning ? posts[sent++ % posts.length] : undefined)
  const load = drive({ url: server.url, connections, pauseMs, next })
  const ran = await runErrand(dataDir, words)
  isRunning = false
  const driven: DriveResult = await load
  const walMb = statSync(join(dataDir, 'errand.db-wal')).size / 1e6
  await server.stop()
  return { ...ran, load: driven, walMb }
}

/** Runs a command line of `errand`, and measures its CPU time and its largest resident memory. */
export async function runErrand(dataDir: string, words: readonly string[]) {
  const from = performance.now()
  const { child } = startCommand([process.execPath, main, ...words, '--data', dataDir], allocatorOptions)
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  let [cpuS, residentMb] = [0, 0]
  const sample = () => {
    try {
      cpuS = cpuSecondsOf(child.pid!)
      const highest = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
      if (highest !== undefined) residentMb = Number(highest) / 1024
    } catch {
      // The process has just exited.
    }
  }
  const timer = setInterval(sample, 50)
  const [code] = (await once(child, 'close')) as [number | null]
  clearInterval(timer)
  if (code !== 0) throw new Error(`errand ${words.join(' ')} exited with ${code}: ${output}`)
  return { output, seconds: (performance.now() - from) / 1000, cpuS, residentMb }
}
