import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { startProcess, type ServerProcess } from '../support/test-process.ts'
import { newDataDir } from '../support/test-service.ts'
import { isInTime } from './busy-machine.ts'
import { settings } from './fault-invariants.ts'
import { FaultLoad, openRichAccount } from './fault-load.ts'
import { CannotRun } from '../support/test-parts.ts'
import { reportOn, type FaultOptions, type FaultReport } from './fault-report.ts'
import { residentBytes } from './slow-reader.ts'
import { demand, demandEqual, until } from '../support/until.ts'

const residentBytesMax = 400 * 2 ** 20
const healthMsMax = 1000
const looksMax = 3
const spareFiles = 1000
const slowSockets = 200
/** The time that the server allows for a request's head, plus the interval between two checks and some slack. */
const slowMsMax = 20_000 + 30_000 + 5000

/**
 * Opens `times` silent connections, during which the service must stay healthy. Then opens clients that send one byte
 * per second.
 */
export function run(options: FaultOptions): Promise<FaultReport> {
  return reportOn('connections', options, async (tally) => {
    const filesMax = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }))
    if (filesMax < options.times + spareFiles) throw new CannotRun('files', `ulimit -n is ${filesMax}`)
    const dataDir = newDataDir()
    const load = new FaultLoad(await openRichAccount(dataDir), tally.random)
    const server = await startProcess({ dataDir, env: settings })
    const sockets: Socket[] = []
    try {
      demandEqual(await load.create(server.url), 200, 'a task before')
      await tally.attempt(`${options.times} idle connections`, async () => {
        while (sockets.length < options.times) sockets.push(...(await Promise.all(openSome(server, 100))))
        const ms = await expectWell(server, load)
        const resident = residentBytes(server.child.pid!)
        tally.notes.push(
          `health in ${ms} ms, ${(resident / 2 ** 20).toFixed(0)} MB resident beside ${sockets.length} connections`,
        )
        demand(resident < residentBytesMax, 'resident memory is under 400 MB')
      })
      for (const socket of sockets.splice(0)) socket.destroy()
      await tally.attempt('slowloris', async () => {
        sockets.push(...(await Promise.all(openSome(server, slowSockets))))
        const waits = options.isShort !== true
        const tookMs = await trickle(sockets, waits, () => expectWell(server, load))
        if (waits) tally.notes.push(`slow heads are cut off after ${Math.round(tookMs / 1000)} s`)
      })
      for (const socket of sockets) socket.destroy()
      demandEqual(await server.end('SIGTERM'), 0, 'the exit code')
    } finally {
      for (const socket of sockets) socket.destroy()
      await server.end('SIGKILL')
    }
    rmSync(dataDir, { recursive: true })
  })
}

function openSome({ url }: ServerProcess, count: number): Promise<Socket>[] {
  const { hostname, port } = new URL(url)
  return Array.from(
    { length: count },
    () =>
      new Promise<Socket>((resolve, reject) => {
        const socket = connect({ host: hostname, port: Number(port) })
        socket.once('connect', () => resolve(socket)).once('error', reject)
        socket.on('error', () => {})
      }),
  )
}

/**
 * Checks that health responds in time and a task is accepted. Tries several times, because other processes may use the
 * CPUs at any moment.
 */
async function expectWell({ url }: ServerProcess, load: FaultLoad): Promise<number> {
  let tookMs = Infinity
  for (let look = 0; look < looksMax && tookMs > healthMsMax; look++) {
    const startedAt = performance.now()
    demandEqual((await fetch(`${url}/healthz`)).status, 200, 'health')
    tookMs = Math.min(tookMs, Math.round(performance.now() - startedAt))
  }
  demand(isInTime(tookMs, healthMsMax), `health was answered after ${tookMs} ms`)
  demandEqual(await load.create(url), 200, 'a task meanwhile')
  return tookMs
}

async function trickle(sockets: readonly Socket[], waits: boolean, check: () => Promise<unknown>): Promise<number> {
  let open = sockets.length
  for (const socket of sockets) {
    socket.once('close', () => open--).resume()
    socket.write('POST /api/tasks HTTP/1.1\r\nHost: test\r\n')
  }
  const pulse = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('X')
  }, 1000)
  try {
    for (let n = 0; n < 3; n++) {
      await check()
      await delay(500)
    }
    return waits ? await until('every slow connection is closed', slowMsMax, () => open === 0) : 0
  } finally {
    clearInterval(pulse)
  }
}
