import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import type { Clock, EpochMs } from '../../server/kernel/clock.ts'
import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type { TaskFailure, TaskRecord } from '../../server/store/records.ts'
import type { AdmitTask, AdmitTaskResult, LedgerReport, Store, StoreLimits } from '../../server/store/store.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { openResources } from '../support/resources.ts'

export type OpenOptions = {
  /** Given the newest time that the store holds. */
  clock: (notBefore: EpochMs) => Clock
  limits: StoreLimits
}

/** A change that no command of the store makes, made behind its back. */
export type Tampering =
  | { what: 'hold'; userId: string; held: Units }
  | { what: 'balance'; userId: string; by: Units }
  | { what: 'transaction-amount'; transactionId: string; by: Units }
  | { what: 'transaction-removed'; transactionId: string }
  | { what: 'transaction-repeated'; transactionId: string }
  | { what: 'task-removed'; taskId: string }
  | { what: 'task-counter'; userId: string; by: number }
  | { what: 'transaction-counter'; userId: string; by: number }

/** A store that is open, and what a test does to it from outside. */
export type OpenedStore = {
  store: Store
  /** Closes the store and opens what it kept. */
  reopen(): Promise<OpenedStore>
  /** Closes the store and removes what it kept. */
  close(): Promise<void>
  tamper(change: Tampering): Promise<void>
  /** What `verifyLedger` reports, by the quickest way that the engine has. */
  verify(): Promise<LedgerReport>
}

export type StoreEngine = { name: string; open(options: OpenOptions): Promise<OpenedStore> }

export const noLimits: StoreLimits = {
  executionsPerMinute: 0,
  abuseFailures: 0,
  abuseWindowSeconds: 600,
  abuseBlockSeconds: 600,
  abuseBlockMaxSeconds: 3600,
}

export const agentError: TaskFailure = { code: 'AGENT_ERROR', message: 'The agent threw.', details: 'Error: no' }
export const interrupted: TaskFailure = { code: 'AGENT_INTERRUPTED', message: 'The service stopped.', details: '' }

const allRows = { limit: 10_000, offset: 0 }
let worlds = 0

/** A store, a clock that stands still until it is moved, and the few steps that most tests begin with. */
export class StoreWorld {
  readonly clock = new FakeClock()
  #opened: OpenedStore
  #people = 0
  readonly #name = `store ${++worlds}`
  /** The newest time that the engine knew of when it was last opened. */
  notBefore: EpochMs = -1

  private constructor(open: (clock: OpenOptions['clock']) => Promise<OpenedStore>) {
    this.#opened = undefined as never
    this.#open = open
  }

  readonly #open

  static async open(engine: StoreEngine, limits: StoreLimits): Promise<StoreWorld> {
    const world = new StoreWorld((clock) => engine.open({ clock, limits }))
    world.#opened = await world.#open((notBefore) => {
      world.notBefore = notBefore
      return world.clock
    })
    openResources.add(world.#name)
    return world
  }
}
