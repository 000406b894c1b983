import { expect } from 'vitest'
import { assert, must } from '../../server/kernel/assert.ts'
import type { Clock, EpochMs } from '../../server/kernel/clock.ts'
import { newId } from '../../server/kernel/ids.ts'
import type { Units } from '../../server/kernel/money.ts'
import type { LedgerReport } from '../../server/store/ledger/ledger-report.ts'
import type { Store, StoreLimits } from '../../server/store/store.ts'
import type { AdmitTask, AdmitTaskResult, TaskRecord, TaskFailure } from '../../server/store/tasks/task-types.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { openResources } from '../support/resources.ts'

export type OpenOptions = {
  /** Creates the clock, given the newest time in the store. */
  clock: (notBefore: EpochMs) => Clock
  limits: StoreLimits
}

/** A change to the database that bypasses the store and that no command would make. */
export type Tampering =
  | { what: 'hold'; userId: string; held: Units }
  | { what: 'balance'; userId: string; by: Units }
  | { what: 'transaction-amount'; transactionId: string; by: Units }
  | { what: 'transaction-removed'; transactionId: string }
  | { what: 'transaction-repeated'; transactionId: string }
  | { what: 'task-removed'; taskId: string }
  | { what: 'task-usage'; taskId: string; usage: string }
  | { what: 'task-counter'; userId: string; by: number }
  | { what: 'transaction-counter'; userId: string; by: number }
  | { what: 'event-type'; taskId: string }
  | { what: 'events-removed'; userId: string }
  | { what: 'delivery-moved'; from: string; to: string }
  | { what: 'transaction-session'; transactionId: string; sessionId: string }
  | { what: 'session-spent'; sessionId: string; by: Units }
  | { what: 'session-cap'; sessionId: string; maxCost: Units }
  | { what: 'turn-cap'; turnId: string; maxCost: Units }
  /** Changes the window by these amounts. */
  | { what: 'window'; ownerId: string; charged: Units; held: Units }
  | { what: 'window-limit'; ownerId: string; limit: Units }
  | { what: 'owed'; userId: string; by: Units }
  | { what: 'topup-refunded'; topupId: string; by: Units }
  | { what: 'topup-disputed'; topupId: string; by: Units }
  | { what: 'topup-removed'; topupId: string }
  | { what: 'topup-unpaid'; topupId: string }

export type EventRow = { id: string; type: string; body: string }

/** An open store, with operations that bypass it. */
export type OpenedStore = {
  store: Store
  reopen(): Promise<OpenedStore>
  close(): Promise<void>
  tamper(change: Tampering): Promise<void>
  /** Runs statements, bypassing the store, triggers and constraints. Each statement must change something. */
  damage(statements: readonly string[]): Promise<void>
  /** A user's events in chronological order. */
  events(userId: string): Promise<EventRow[]>
  /** Ids of queued tasks, in order of admission. */
  queued(): Promise<string[]>
  /** Verifies the ledger by the engine's fastest method. */
  verify(): Promise<LedgerReport>
}

export type StoreEngine = { name: string; open(options: OpenOptions): Promise<OpenedStore> }

export const noLimits: StoreLimits = {
  executionsPerMinute: 0,
  abuseFailures: 0,
  abuseWindowSeconds: 600,
  abuseBlockSeconds: 600,
  abuseBlockMaxSeconds: 3600,
  maxWrittenOffUsdPerDay: 0,
  payloadBytesPerDay: 0,
  connectorBlockSeconds: 0,
  connectorTasksAtWork: 0,
  sessionIdleSeconds: 86_400,
  // With 0, a closed process's work counts as abandoned immediately.
  leaseSeconds: 0,
}

export const agentError: TaskFailure = { code: 'AGENT_ERROR', message: 'The agent threw.', details: 'Error: no' }
/** A page with more users than any test creates. */
export const everyone = { limit: 1000, offset: 0 }

export const interrupted: TaskFailure = { code: 'AGENT_INTERRUPTED', message: 'The service stopped.', details: '' }

const allRows = { limit: 10_000, offset: 0 }
export const queuedRows = 'SELECT id FROM tasks WHERE queued = 1 ORDER BY seq'
export const eventRows = 'SELECT id, type, body FROM events WHERE user_id = $userId ORDER BY created_at, id'
let worlds = 0

export async function openWorld(engine: StoreEngine, limits: StoreLimits): Promise<StoreWorld> {
  const clock = new FakeClock()
  let newest = 0
  const opened = await engine.open({
    limits,
    clock: (notBefore) => {
      newest = notBefore
      return clock
    },
  })
  return new StoreWorld({ clock, opened, notBefore: () => newest })
}

/** A store, a clock that the test advances, and the setup that most tests share. */
export class StoreWorld {
  readonly clock: FakeClock
  readonly #notBefore: () => EpochMs
  readonly #name = `store ${++worlds}`
  #opened: OpenedStore
  #people = 0

  constructor({ clock, opened, notBefore }: { clock: FakeClock; opened: OpenedStore; notBefore: () => EpochMs }) {
    this.clock = clock
    this.#opened = opened
    this.#notBefore = notBefore
    openResources.add(this.#name)
  }

  /** The newest time in the store when it was last opened. */
  get notBefore(): EpochMs {
    return this.#notBefore()
  }

  get store(): Store {
    return this.#opened.store
  }

  async reopen(): Promise<void> {
    this.#opened = await this.#opened.reopen()
  }

  async close(): Promise<void> {
    await this.#opened.close()
    openResources.delete(this.#name)
  }

  tamper(change: Tampering): Promise<void> {
    return this.#opened.tamper(change)
  }

  damage(statements: readonly string[]): Promise<void> {
    return this.#opened.damage(statements)
  }

  events(userId: string): Promise<EventRow[]> {
    return this.#opened.events(userId)
  }

  queued(): Promise<string[]> {
    return this.#opened.queued()
  }

  async purge(): Promise<void> {
    while (await this.store.purgeExpired()) continue
  }

  verify(): Promise<LedgerReport> {
    return this.#opened.verify()
  }

  async createUser(balance: Units = 100_000): Promise<string> {
    const email = `person-${++this.#people}@example.com`
    const created = await this.store.createUser({ email, passwordHash: null, isAdmin: false })
    if (created.outcome === 'refused') throw new Error(`${email} exists`)
    const { userId } = created
    const credit = { userId, amount: balance, description: 'Test balance', idempotencyKey: null }
    if (balance > 0) expect(await this.store.credit(credit)).toMatchObject({ outcome: 'credited', balance })
    return userId
  }

  /**
   * Creates a user with an enabled webhook, so that executions have events. The webhook subscribes to other events, so
   * nothing is delivered.
   */
  async createListener(balance?: Units): Promise<string> {
    const userId = await this.createUser(balance)
    const webhookId = newId('hook', this.clock.now())
    const input = { url: 'https://a.example.com', description: '', types: ['balance.low' as const], sealed: 'sealed' }
    expect(await this.store.webhooks.create({ userId, webhookId, ...input })).toMatchObject({ outcome: 'created' })
    return userId
  }

  /** Returns input for a task that costs a cent, with a new id. */
  draft(userId: string, changes: Partial<AdmitTask> = {}): AdmitTask {
    return {
      taskId: newId('task', this.clock.now()),
      userId,
      agentId: 'text',
      endpointId: 'text.summarize',
      cost: 100,
      request: { text: '{"text":"hello"}', payloadId: null },
      connectorIds: null,
      idempotency: null,
      ...changes,
    }
  }

  admit(userId: string, changes: Partial<AdmitTask> = {}): Promise<AdmitTaskResult> {
    return this.store.admitTask(this.draft(userId, changes))
  }

  async pending(userId: string, changes: Partial<AdmitTask> = {}): Promise<string> {
    const draft = this.draft(userId, changes)
    expect(await this.store.admitTask(draft)).toMatchObject({ outcome: 'accepted' })
    return draft.taskId
  }

  async processing(userId: string, changes: Partial<AdmitTask> = {}): Promise<TaskRecord> {
    const claimed = must(await this.store.claimTask(await this.pending(userId, changes)), 'a queued task')
    assert(typeof claimed === 'object', 'the task may start')
    const { isLimited: _, ...task } = claimed
    return task
  }

  async completed(userId: string, changes: Partial<AdmitTask> = {}): Promise<TaskRecord> {
    const { id: taskId, attempt } = await this.processing(userId, changes)
    const response = { text: '{"summary":"hi"}', payloadId: null }
    expect(await this.store.completeTask({ taskId, attempt, response })).toBe(true)
    return await this.read(userId, taskId)
  }

  async failed(userId: string, changes: Partial<AdmitTask> & { countsAsAbuse?: boolean } = {}): Promise<TaskRecord> {
    const { countsAsAbuse = true, ...rest } = changes
    const { id: taskId, attempt } = await this.processing(userId, rest)
    expect(await this.store.failTask({ taskId, attempt, error: agentError, countsAsAbuse })).toBe(true)
    return await this.read(userId, taskId)
  }

  async read(userId: string, taskId: string): Promise<TaskRecord> {
    return must(await this.store.getTask({ userId, taskId }), 'the task exists')
  }

  async balance(userId: string): Promise<Units> {
    return must(await this.store.getAccount(userId), 'the account exists').balance
  }

  /** Reads the rate window under the user's current plan. */
  async rate(userId: string) {
    const user = await this.store.platform.findUser({ userId })
    return await this.store.readRate({ userId, account: user?.account ?? { plan: null, limits: null } })
  }

  /** Returns a snapshot of all of a user's data for comparisons. */
  async everything(userId: string) {
    const { store } = this
    const list = await store.listTasks({ userId, ...allRows })
    return {
      account: await store.getAccount(userId),
      list,
      tasks: await Promise.all(list.tasks.map(({ id }) => this.read(userId, id))),
      transactions: await store.listTransactions({ userId, ...allRows }),
      keys: await store.listKeys({ userId, ...allRows }),
      rate: await this.rate(userId),
      queued: await this.queued(),
      processing: await store.abandonedTasks(10_000),
    }
  }

  /** Expects the rejection, both predicted and actual, and unchanged data. */
  async expectRefused(draft: AdmitTask, refusal: object): Promise<void> {
    const before = await this.everything(draft.userId)
    expect(await this.store.foreseeAdmission(draft)).toMatchObject(refusal)
    expect(await this.store.admitTask(draft)).toMatchObject(refusal)
    expect(await this.everything(draft.userId)).toEqual(before)
  }
}
