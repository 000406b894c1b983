import { cpSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApp, type App, type AppOptions } from '../../server/app.ts'
import { resolveLimits, type Limits } from '../../server/config.ts'
import type { Logger } from '../../server/kernel/logger.ts'
import type { Clock } from '../../server/kernel/clock.ts'
import { AutoRecharge } from '../../server/payments/auto-recharge.ts'
import type { Store } from '../../server/store/store.ts'
import type { MachineTime } from './sim-clock.ts'
import simAgents from './sim-agents.ts'
import { stubKeys } from '../payments/stripe-stub.ts'
import { paymentsVariable } from './sim-payments.ts'
import { gates, type GateEnd } from './sim-gates.ts'

export const simSecret = 'a secret of the simulation only'
export const simConcurrency = 6
export const simLimits: Limits = {
  ...resolveLimits({}, {}),
  taskConcurrency: simConcurrency,
  drainSeconds: 20,
  turnTimeoutSeconds: 120,
  // The checks run in the thread of the service, which would take them for overload.
  maxLoopDelayMs: 600_000,
  topupMinUsd: 1,
  // Hostile days write off more than one user may, and go on to see that it all adds up.
  maxWrittenOffUsdPerDay: 0,
}

/** A service under simulation, in this process or in one of its own. */
export type SimHost = {
  readonly url: string
  /** Where browsers and links take it to be. */
  readonly origin: string
  readonly dataDir: string
  /** For commands that no request gives; null where the service is another process. */
  readonly store: Store | null
  /** The service's own time. */
  now(): number
  /** Time passes, and then the machine's clock is set by `setMs`. */
  moveTime(passMs: number, setMs: number): Promise<void>
  openGate(name: string, end: GateEnd): Promise<void>
  /** Looks for balances to recharge. */
  recharge(): Promise<void>
  /** Stops as SIGTERM does; `hasten` interrupts what still runs. */
  stop(hasten: boolean): Promise<void>
  /** Ends without a stop, as kill -9 does; resolves with the data directory that it leaves. */
  crash(): Promise<string>
  /** Lines of the log that tell of a fault. */
  faults(): string[]
}

const memoryFolder = '/dev/shm'
const memoryBytesMin = 512 * 1024 * 1024

/** In memory where the machine offers it: a simulation is about what is written, and not about when it is synced. */
export function newSimFolder(): string {
  return mkdtempSync(join(hasMemoryFolder() ? memoryFolder : tmpdir(), 'errand-sim-'))
}

function hasMemoryFolder(): boolean {
  try {
    const { bavail, bsize } = statfsSync(memoryFolder)
    return bavail * bsize >= memoryBytesMin
  } catch {
    return false
  }
}

type SimApp = Pick<AppOptions, 'log' | 'onFatal'> & {
  createClock: (notBefore: number) => Clock
  baseUrl?: string
  databaseUrl?: string
  limits?: Limits
}

// A service looks every quarter of a minute of the machine's time, of which a simulation knows nothing: here it looks when
// it is told to.
AutoRecharge.prototype.start = () => {}

/** As another process on the same store would, beside the service's own looks. */
export function lookForRecharges({ services }: App): Promise<void> {
  return new AutoRecharge(services.payments).look()
}

/** Starts the app on that data directory. */
export async function startSimApp(dataDir: string, options: SimApp): Promise<App> {
  return await startApp({
    config: simAgents,
    configFile: null,
    dataDir,
    host: '127.0.0.1',
    port: 0,
    baseUrl: null,
    secrets: () => ({ current: simSecret, previous: [] }),
    commandPath: '',
    metricsToken: null,
    trustedProxies: [],
    connectorPrivateHosts: ['127.0.0.1'],
    webhookPrivateHosts: ['127.0.0.1'],
    limits: simLimits,
    payments: { ...stubKeys, apiUrl: process.env[paymentsVariable]!, returnOrigins: [] },
    ...options,
  })
}

/** Keeps what is logged as an error; `faults` gives it out once. */
export class FaultLog implements Logger {
  #faults: string[] = []

  debug(): void {}

  info(): void {}

  warn(): void {}

  error(fields: object, message: string): void {
    const { err } = fields as { err?: unknown }
    this.#faults.push(`${message}: ${err instanceof Error ? err.stack : JSON.stringify(fields)}`)
  }

  note(fault: string): void {
    this.#faults.push(fault)
  }

  take(): string[] {
    return this.#faults.splice(0)
  }
}

/** Apps that a crash left: they must be gone before the process may end. */
const abandoned = new Set<Promise<void>>()

export async function abandonedHaveEnded(): Promise<void> {
  await Promise.all(abandoned)
}

/** Ends an app whose data nobody looks at any more, in its own time. */
export function abandon(app: App, onGone: () => void): void {
  const stopped = app.stop()
  app.hasten()
  const gone: Promise<void> = stopped.finally(() => {
    abandoned.delete(gone)
    onGone()
  })
  abandoned.add(gone)
}

/** The service in this process. */
export async function startInlineHost(dataDir: string, time: MachineTime): Promise<SimHost> {
  const log = new FaultLog()
  let clock: Clock = { now: () => 0 }
  const app = await startSimApp(dataDir, {
    log,
    createClock: (notBefore) => (clock = time.systemClock(notBefore)),
    onFatal: (cause) => log.note(`the store stopped for good: ${String(cause)}`),
  })
  return {
    url: app.url,
    origin: app.url,
    dataDir,
    store: app.store,
    now: () => clock.now(),
    moveTime: async (passMs, setMs) => {
      time.pass(passMs)
      time.set(setMs)
    },
    openGate: async (name, end) => gates.open(name, end),
    recharge: () => lookForRecharges(app),
    stop: async (hasten) => {
      const stopped = app.stop()
      if (hasten) app.hasten()
      await stopped
    },
    crash: async () => {
      const left = copyOfDisk(dataDir)
      // What it does from here on is done to a folder that nobody looks at.
      abandon(app, () => rmSync(dataDir, { recursive: true, force: true }))
      return left
    },
    faults: () => log.take(),
  }
}

/**
 * What the disk holds at this instant. The thread that writes the database is the one that copies it, so this is what
 * a process that was killed here would leave; the shared memory of the WAL is made anew then.
 */
export function copyOfDisk(dataDir: string): string {
  const left = newSimFolder()
  cpSync(dataDir, left, { recursive: true, filter: (name) => !name.endsWith('-shm') && !name.endsWith('.lock') })
  return left
}
