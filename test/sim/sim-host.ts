import { cpSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApp, type App, type AppOptions } from '../../server/app/app.ts'
import { resolveLimits, type Limits } from '../../server/app/config.ts'
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
export const simTrialCredit = 9000
export const simLimits: Limits = {
  ...resolveLimits({}, {}),
  taskConcurrency: simConcurrency,
  drainSeconds: 20,
  turnTimeoutSeconds: 120,
  // The simulation's checks run in the service's thread and would otherwise count as overload.
  maxLoopDelayMs: 600_000,
  topupMinUsd: 1,
  // Disables the bound, because a hostile day exceeds the default and the run must continue until its totals are
  // checked.
  maxWrittenOffUsdPerDay: 0,
}

/** A simulated service, in this process or in a separate one. */
export type SimHost = {
  readonly url: string
  readonly origin: string
  readonly dataDir: string
  /** The store, for calls without a request; null if the service runs in a separate process. */
  readonly store: Store | null
  now(): number
  /** Advances time, then sets the machine's clock by `setMs`. */
  moveTime(passMs: number, setMs: number): Promise<void>
  openGate(name: string, end: GateEnd): Promise<void>
  recharge(): Promise<void>
  /** Stops as SIGTERM does; `hasten` interrupts running work. */
  stop(hasten: boolean): Promise<void>
  /** Dies as under kill -9 and resolves with the path of the data directory left behind. */
  crash(): Promise<string>
  /** Logged errors. */
  faults(): string[]
}

const memoryFolder = '/dev/shm'
const memoryBytesMin = 512 * 1024 * 1024

/** Creates a folder, in memory if possible, because a simulation tests writes and not disk syncs. */
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

// Disables the service's polls, which run every 15 s of real time. The simulation triggers them instead.
AutoRecharge.prototype.start = () => {}

/** Polls once, as a second process on the same store would. */
export function lookForRecharges({ services }: App): Promise<void> {
  return new AutoRecharge(services.payments).look()
}

export async function startSimApp(dataDir: string, options: SimApp): Promise<App> {
  return await startApp({
    config: simAgents,
    configFile: null,
    dataDir,
    listens: { host: '127.0.0.1', port: 0 },
    baseUrl: null,
    secrets: () => ({ current: simSecret, previous: [] }),
    commandPath: '',
    metricsToken: null,
    trustedProxies: [],
    connectorPrivateHosts: ['127.0.0.1'],
    webhookPrivateHosts: ['127.0.0.1'],
    limits: simLimits,
    signUp: { isOpen: true, domains: null, newcomer: { plan: null, credit: simTrialCredit } },
    payments: { ...stubKeys, apiUrl: process.env[paymentsVariable]!, returnOrigins: [] },
    ...options,
  })
}

/** Collects logged errors. `faults` returns each of them once. */
export class FaultLog implements Logger {
  #faults: string[] = []

  debug(): void {}

  info(): void {}

  warn(): void {}

  error(fields: object, message: string): void {
    const { err } = fields as { err?: unknown }
    // An erasure step makes the provider fail.
    if (err instanceof Error && err.message.startsWith('Could not reach the payment provider')) return
    this.#faults.push(`${message}: ${err instanceof Error ? err.stack : JSON.stringify(fields)}`)
  }

  note(fault: string): void {
    this.#faults.push(fault)
  }

  take(): string[] {
    return this.#faults.splice(0)
  }
}

/** Promises of apps that a crash abandoned. The process must not exit before these apps have stopped. */
const abandoned = new Set<Promise<void>>()

export async function abandonedHaveEnded(): Promise<void> {
  await Promise.all(abandoned)
}

/** Stops an app in the background. Its data must no longer be in use. */
export function abandon(app: App, onGone: () => void): void {
  const stopped = app.stop()
  app.hasten()
  const gone: Promise<void> = stopped.finally(() => {
    abandoned.delete(gone)
    onGone()
  })
  abandoned.add(gone)
}

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
      // From here on, the abandoned app writes to an unused folder.
      abandon(app, () => rmSync(dataDir, { recursive: true, force: true }))
      return left
    },
    faults: () => log.take(),
  }
}

/**
 * Copies the files as they are now. This thread is also the only database writer, so a killed process would leave the
 * same files. The WAL's shared memory is not copied, because SQLite recreates it.
 */
export function copyOfDisk(dataDir: string): string {
  const left = newSimFolder()
  cpSync(dataDir, left, { recursive: true, filter: (name) => !name.endsWith('-shm') && !name.endsWith('.lock') })
  return left
}
