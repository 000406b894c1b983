import type { ChatTurns } from '../chat/chat-turns.ts'
import type { Logger } from '../kernel/logger.ts'
import type { SharedStore } from '../store/shared.ts'
import type { Store } from '../store/store.ts'
import type { TaskRunner } from '../tasks/task-runner.ts'

type LeaseKeeperParts = {
  store: Pick<Store, 'closeAbandonedTurns'>
  shared: SharedStore
  runner: Pick<TaskRunner, 'heldTasks' | 'loseTasks' | 'noteQueued'>
  settleTasks: (maySettle: () => boolean) => Promise<void>
  chats: Pick<ChatTurns, 'heldTurnIds' | 'loseTurns'>
  leaseSeconds: number
  queuedMax: number
  log: Logger
}

const renewalsPerLease = 4
const retryMsMax = 1000
/**
 * If a renewal takes longer than the lease duration divided by this number, contact with the database counts as broken.
 * The same applies if the database's clock jumps by more than that.
 */
const breaksPerLease = 2
/**
 * Missing this many renewals also counts as broken contact: all nodes may have been suspended, and only this one
 * resumed.
 */
const renewalsLeftOut = 3

/**
 * Renews this node's leases, ends runs whose lease was lost, and settles the work of dead nodes. Used only if nodes
 * share a database.
 *
 * During a database outage all leases expire, and the first node to reconnect would consider all others dead. A node
 * therefore settles the work of others only after unbroken contact with the database for the duration of a lease.
 *
 * Settling a dead node's chats can take longer than a lease, so it runs concurrently with the renewals. Otherwise, the
 * settling node would be considered dead too.
 */
export class LeaseKeeper {
  readonly #parts: LeaseKeeperParts
  readonly #leaseMs: number
  #timer: NodeJS.Timeout | undefined
  #isStopped = false
  #renewing: Promise<void> | undefined
  /** Jobs that run concurrently with the renewals, by name. Each job has at most one run at a time. */
  readonly #besides = new Map<string, Promise<void>>()
  #renewedAt = -Infinity
  #steadySince: number | undefined
  #clockOffset: number | undefined

  constructor(parts: LeaseKeeperParts) {
    this.#parts = parts
    this.#leaseMs = parts.leaseSeconds * 1000
  }

  start(): void {
    if (this.#isStopped) return
    // Retry soon after a failure, because three quarters of a lease may have passed.
    const renewMs = this.#leaseMs / renewalsPerLease
    const pauseMs = this.#steadySince === undefined ? Math.min(retryMsMax, renewMs) : renewMs
    this.#timer = setTimeout(() => {
      this.#renewing = this.#renew().finally(() => this.start())
    }, pauseMs)
    this.#timer.unref()
  }

  /** Stops the renewals, and waits for running renewals and jobs. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#renewing
    await Promise.all(this.#besides.values())
  }

  async #renew(): Promise<void> {
    const { chats, log, runner, settleTasks, shared } = this.#parts
    const askedAt = performance.now()
    try {
      const tasks = runner.heldTasks
      const lost = await shared.renewLeases({ tasks, turnIds: chats.heldTurnIds })
      const lostIds = new Set(lost.taskIds)
      // Work that ended during the renewal also counts as lost. `loseTasks` and `loseTurns` ignore it.
      const stopped = runner.loseTasks(tasks.filter(({ taskId }) => lostIds.has(taskId)))
      const ended = chats.loseTurns(lost.turnIds)
      if (stopped.length > 0) log.warn({ tasks: stopped }, 'other nodes took over tasks')
      if (ended.length > 0) log.warn({ turns: ended }, 'other nodes closed turns')
      if (!this.#isSteady(lost.at, askedAt)) this.#steadySince = performance.now()
      this.#renewedAt = askedAt
    } catch (error) {
      this.#steadySince = undefined
      if (!this.#isStopped) log.warn({ err: error }, 'could not renew the leases of this node; retrying')
      return
    }
    this.#beside('counting the queued tasks', () => this.#countQueued())
    if (!this.#maySettle()) return
    this.#beside('ending the turns that another node left open', () => this.#closeTurns())
    this.#beside('ending the tasks that another node left open', () => settleTasks(this.#maySettle))
  }

  #beside(what: string, work: () => Promise<void>): void {
    if (this.#besides.has(what)) return
    const done = work()
      .catch((error: unknown) => {
        if (!this.#isStopped) this.#parts.log.warn({ err: error }, `${what} failed; retrying`)
      })
      .finally(() => this.#besides.delete(what))
    this.#besides.set(what, done)
  }

  /**
   * Returns false after a break: a failed, slow or late renewal, or a jump in the database's clock. After a break,
   * other nodes get one lease duration to renew their leases.
   */
  #isSteady(databaseMs: number, askedAt: number): boolean {
    const now = performance.now()
    const breakMs = this.#leaseMs / breaksPerLease
    const offset = databaseMs - now
    const before = this.#clockOffset ?? offset
    this.#clockOffset = offset
    const isInTime = now - askedAt < breakMs && !this.#isLate(askedAt)
    return this.#steadySince !== undefined && isInTime && Math.abs(offset - before) < breakMs
  }

  #isLate(at: number): boolean {
    return at - this.#renewedAt > (this.#leaseMs / renewalsPerLease) * renewalsLeftOut
  }

  /**
   * Whether this node may settle the work of other nodes. Checked before each batch, because a break can also occur
   * between batches.
   */
  readonly #maySettle = (): boolean => {
    const now = performance.now()
    const isLongEnough = this.#steadySince !== undefined && now - this.#steadySince >= this.#leaseMs
    return isLongEnough && !this.#isLate(now) && !this.#isStopped
  }

  async #closeTurns(): Promise<void> {
    let turns = 0
    for (let closed = -1; closed !== 0 && this.#maySettle(); turns += closed) {
      closed = await this.#parts.store.closeAbandonedTurns()
    }
    if (turns > 0) this.#parts.log.info({ turns }, 'closed the turns of a stopped node without a charge')
  }

  async #countQueued(): Promise<void> {
    const { queuedMax, runner, shared } = this.#parts
    if (queuedMax > 0) runner.noteQueued(await shared.countQueued(queuedMax))
  }
}
