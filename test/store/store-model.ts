import type { TransactionType } from '../../server/store/accounts/account-types.ts'
import type { TaskListItem, TaskStatus } from '../../server/store/tasks/task-types.ts'
import type { StoreLimits } from '../../server/store/store.ts'

export type ModelTask = {
  id: string
  userId: string
  agentId: string
  endpointId: string
  status: TaskStatus
  isQueued: boolean
  attempt: number
  cost: number
  givenBack: number
  meters: Record<string, number> | null
  usage: Record<string, number> | null
  progress: string | null
  errorCode: string | null
  createdAt: number
  startedAt: number | null
  completedAt: number | null
}

type Usage = Record<string, number>

type ModelUser = {
  balance: number
  transactions: { type: TransactionType; amount: number; balanceAfter: number; taskId: string | null }[]
  failures: number[]
  blockedAt: number
  blockedUntil: number
  blockSeconds: number
  keys: Map<string, { bodyHash: string; taskId: string; at: number }>
}

type Admission = Pick<ModelTask, 'userId' | 'agentId' | 'cost' | 'meters'> & {
  taskId: string
  key: string | null
  bodyHash: string
}

/**
 * Predicts the results of a store with plain lists and loops that are easy to verify, without indexes, counters or
 * transactions. Runs one command at a time.
 */
export class StoreModel {
  readonly users = new Map<string, ModelUser>()
  readonly tasks: ModelTask[] = []
  readonly #limits: StoreLimits

  constructor(limits: StoreLimits) {
    this.#limits = limits
  }

  addUser(userId: string): void {
    const none = { failures: [], blockedAt: -Infinity, blockedUntil: -Infinity, blockSeconds: 0, keys: new Map() }
    this.users.set(userId, { balance: 0, transactions: [], ...none })
  }

  /** Returns `accepted`, `replayed`, or the reason for the rejection. */
  admit({ taskId, userId, agentId, cost, meters, key, bodyHash }: Admission, now: number): string {
    const user = this.users.get(userId)!
    const earlier = key === null ? undefined : user.keys.get(key)
    if (earlier && now - earlier.at < 86_400_000) {
      return earlier.bodyHash === bodyHash ? 'replayed' : 'idempotency-conflict'
    }
    if (user.blockedUntil > now) return 'blocked'
    const recent = this.tasks.filter((task) => task.userId === userId && now - task.createdAt < 60_000)
    if (recent.length >= this.#limits.executionsPerMinute) return 'rate'
    if (user.balance < cost) return 'balance'
    this.#post(user, { type: 'task_charge', amount: -cost, taskId })
    const task = {
      id: taskId,
      userId,
      agentId,
      endpointId: 'text.summarize',
      status: 'pending' as const,
      isQueued: true,
      attempt: 0,
      cost,
      givenBack: 0,
      meters,
      usage: null,
      errorCode: null,
      progress: null,
    }
    this.tasks.push({ ...task, createdAt: now, startedAt: null, completedAt: null })
    if (key !== null) user.keys.set(key, { bodyHash, taskId, at: now })
    return 'accepted'
  }

  claim(task: ModelTask, now: number): number | undefined {
    if (!task.isQueued) return undefined
    Object.assign(task, { isQueued: false, status: 'processing', progress: null, startedAt: now })
    return ++task.attempt
  }

  complete(task: ModelTask, { attempt, now, usage }: { attempt: number; now: number; usage?: Usage }): boolean {
    if (!this.isAtWork(task, attempt)) return false
    Object.assign(task, { status: 'completed', completedAt: now })
    if (!task.meters || !usage) return true
    let left = task.cost
    for (const [event, count] of Object.entries(usage)) left -= count * task.meters[event]!
    Object.assign(task, { usage, givenBack: left, cost: task.cost - left })
    if (left > 0) this.#post(this.users.get(task.userId)!, { type: 'adjustment', amount: left, taskId: task.id })
    return true
  }

  note(task: ModelTask, attempt: number, progress: string): void {
    if (this.isAtWork(task, attempt)) task.progress = progress
  }

  fail(
    task: ModelTask,
    {
      attempt,
      counts,
      errorCode = 'AGENT_ERROR',
      now,
    }: { attempt: number; counts: boolean; errorCode?: string; now: number },
  ): boolean {
    if (!this.isAtWork(task, attempt)) return false
    Object.assign(task, { status: 'failed', errorCode, completedAt: now })
    const user = this.users.get(task.userId)!
    this.#post(user, { type: 'task_refund', amount: task.cost, taskId: task.id })
    if (counts) this.#countFailure(user, now)
    return true
  }

  interrupt(task: ModelTask, { attempt, retries, now }: { attempt: number; retries: number; now: number }): string {
    if (!this.isAtWork(task, attempt)) return 'stale'
    if (attempt > retries)
      return this.fail(task, { attempt, counts: false, errorCode: 'AGENT_INTERRUPTED', now }) ? 'failed' : 'stale'
    task.isQueued = true
    return 'requeued'
  }

  credit(userId: string, amount: number): 'credited' | 'balance' {
    const user = this.users.get(userId)!
    if (user.balance + amount < 0) return 'balance'
    this.#post(user, { type: amount < 0 ? 'adjustment' : 'credit', amount, taskId: null })
    return 'credited'
  }

  unblock(userId: string, now: number): boolean {
    const user = this.users.get(userId)!
    const wasBlocked = user.blockedUntil > now
    Object.assign(user, { failures: [], blockedUntil: wasBlocked ? -Infinity : user.blockedUntil })
    return wasBlocked
  }

  isAtWork(task: ModelTask, attempt: number): boolean {
    return task.status === 'processing' && !task.isQueued && task.attempt === attempt
  }

  listTasks(filter: { userId: string; status?: TaskStatus; agentId?: string }): TaskListItem[] {
    return this.tasks
      .filter((task) => Object.entries(filter).every(([name, value]) => task[name as keyof ModelTask] === value))
      .map(({ attempt: _, isQueued: _1, meters, progress: _2, usage: _3, userId: _4, ...task }) => ({
        ...task,
        keyId: null,
        startedBy: null,
        tags: null,
        maxCost: meters && task.cost + task.givenBack,
        errorMessage: null,
        preview: null,
      }))
      .toReversed()
  }

  #post(user: ModelUser, row: { type: TransactionType; amount: number; taskId: string | null }): void {
    user.balance += row.amount
    user.transactions.unshift({ ...row, balanceAfter: user.balance })
  }

  #countFailure(user: ModelUser, now: number): void {
    const { abuseBlockMaxSeconds, abuseBlockSeconds, abuseFailures, abuseWindowSeconds } = this.#limits
    user.failures = [...user.failures.filter((at) => now - at < abuseWindowSeconds * 1000), now]
    if (user.failures.length < abuseFailures) return
    const isRepeat = now - user.blockedAt < 86_400_000
    const seconds = isRepeat ? Math.min(user.blockSeconds * 2, abuseBlockMaxSeconds) : abuseBlockSeconds
    const blockedUntil = Math.max(user.blockedUntil, now + seconds * 1000)
    Object.assign(user, { failures: [], blockedAt: now, blockSeconds: seconds, blockedUntil })
  }
}
