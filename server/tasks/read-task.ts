import type { TaskListItem as StoredListItem, TaskRecord } from '../store/tasks/task-types.ts'
import type { z } from 'zod'
import { receiptRates } from '../billing/written-rates.ts'
import { isoTime } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { isId } from '../kernel/ids.ts'
import { storedObject } from '../kernel/json-text.ts'
import { formatUsd } from '../kernel/money.ts'
import { nextOf, readRange } from '../store/list-place.ts'
import type { SignedLinks } from '../payloads/signed-links.ts'
import type { StoredJson } from '../payloads/stored-json.ts'
import type { Store } from '../store/store.ts'
import type { TaskEnds } from './task-ends.ts'
import type { LiveProgress } from './live-progress.ts'
import type {
  ExportTasksInput,
  ListTasksInput,
  ListTasksOutput,
  LogLine,
  ProgressLine,
  Task,
  TaskListItem,
  TaskProgress,
  TaskStarter,
} from './task-schema.ts'

type GetTask = {
  userId: string
  taskId: string
  waitSeconds: number
  signal: AbortSignal | undefined
  onHold: () => void
}
export type ReadTaskParts = { store: Store; links: SignedLinks; ends: TaskEnds; live: Pick<LiveProgress, 'of'> }

/** Waits up to `waitSeconds` for the task to end. */
export async function getTask(
  { store, links, live, ends }: ReadTaskParts,
  { userId, taskId, waitSeconds, signal, onHold }: GetTask,
): Promise<Task> {
  let record = await store.getTask({ userId, taskId })
  if (record && record.completedAt === null && waitSeconds > 0) {
    const wait = ends.wait({ taskId, userId }, { timeoutMs: waitSeconds * 1000, signal })
    try {
      // The task may have ended between the first read and the start of the wait.
      record = await store.getTask({ userId, taskId })
      if (record?.completedAt === null && !wait.isOver) {
        onHold()
        do {
          await wait.change()
          record = await store.getTask({ userId, taskId })
        } while (record?.completedAt === null && !wait.isOver)
      }
    } finally {
      wait.cancel()
    }
  }
  if (!record) throw taskNotFound()
  return toTask(record, { links, live })
}

export function taskNotFound(): ErrandError {
  return new ErrandError('NOT_FOUND', 'Task not found. Check the id.')
}

export async function listTasks(
  store: Store,
  { input, userId }: { input: z.output<typeof ListTasksInput>; userId: string },
): Promise<z.output<typeof ListTasksOutput>> {
  const { include, limit, offset } = input
  const { list, range } = readRange('tasks', userId, input)
  const { next, tasks, total } = await store.listTasks({
    userId,
    ...readFilters(input),
    ...range,
    withPreview: include === 'preview',
    limit,
    offset,
  })
  return { tasks: tasks.map(toListItem), total, limit, offset, ...nextOf(next, list) }
}

/** Converts the filters to the store's format, except the time filters, which `readRange` converts. */
export function readFilters({
  agentId,
  endpointId,
  keyId,
  outcome,
  search,
  status,
  tag,
}: z.output<typeof ExportTasksInput>) {
  return {
    ...(status && { status }),
    ...(outcome && { outcome }),
    ...(agentId !== undefined && { agentId }),
    ...(endpointId !== undefined && { endpointId }),
    ...(keyId !== undefined && { keyId }),
    ...(tag && { tags: tag }),
    ...(search !== undefined && { search }),
  }
}

export function toListItem(record: StoredListItem): TaskListItem {
  const { completedAt, cost, errorCode, errorMessage, keyId, maxCost, preview, startedAt, status, tags } = record
  const startedBy = readStarter(record)
  return {
    id: record.id,
    agentId: record.agentId,
    endpointId: record.endpointId,
    ...(keyId !== null && { keyId }),
    ...(startedBy && { startedBy }),
    status,
    ...(tags && { tags }),
    costUsd: formatUsd(cost),
    refundedUsd: refundedUsd(record),
    ...(maxCost !== null && { maxCostUsd: formatUsd(maxCost) }),
    createdAt: isoTime(record.createdAt),
    ...(startedAt !== null && { startedAt: isoTime(startedAt) }),
    ...(completedAt !== null && { completedAt: isoTime(completedAt) }),
    ...(errorCode !== null && { errorCode }),
    ...(preview !== null && { preview }),
    ...(errorMessage !== null && { errorMessage }),
  }
}

function readStarter({ keyId, startedBy }: Pick<TaskRecord, 'keyId' | 'startedBy'>): TaskStarter | undefined {
  if (keyId !== null || startedBy === null) return undefined
  if (isId('ctok', startedBy)) return { kind: 'clientToken', id: startedBy }
  return { kind: startedBy as TaskStarter['kind'] }
}

/**
 * Returns the task's progress as a JSON string, or null. For a run in this process, returns the latest progress, which
 * may not be stored yet.
 */
export function readProgress(
  { attempt, id, progress, status }: Pick<TaskRecord, 'attempt' | 'id' | 'progress' | 'status'>,
  live: ReadTaskParts['live'],
): string | null {
  const run = status === 'processing' ? live.of(id) : undefined
  return run?.attempt === attempt && run.progress !== undefined ? run.progress : progress
}

type Lines<Line> = { dropped: number; lines: Line[] }

export function readRunLog({ runLog }: Pick<TaskRecord, 'runLog'>): {
  progress?: Lines<ProgressLine>
  log?: Lines<LogLine>
  connectorMs?: number
} {
  return runLog === null ? {} : (JSON.parse(runLog) as ReturnType<typeof readRunLog>)
}

/** Caches the task built from each frozen record, and the progress in that task. */
const made = new WeakMap<TaskRecord, { progress: string | null; task: Task }>()

type Links = Pick<SignedLinks, 'create'>

export function toTask(record: TaskRecord, { links, live }: Pick<ReadTaskParts, 'live'> & { links: Links }): Task {
  const progress = readProgress(record, live)
  const known = made.get(record)
  if (known && known.progress === progress) return known.task
  const task = newTask(record, { links, progress })
  // Links expire, so rebuild tasks with links for each response.
  const hasLinks = task.requestUri !== undefined || task.responseUri !== undefined
  if (!hasLinks && Object.isFrozen(record)) made.set(record, { progress, task: Object.freeze(task) })
  return task
}

function newTask(record: TaskRecord, { links, progress }: { links: Links; progress: string | null }): Task {
  const { cancelableUntil, connectorIds, expiresAt, prunedAt, request, response, startedAt, completedAt, timeoutMs } =
    record
  const task: Task = {
    id: record.id,
    userId: record.userId,
    agentId: record.agentId,
    endpointId: record.endpointId,
    status: record.status,
    attempt: record.attempt,
    request: inline(request),
    response: response && inline(response),
    error: record.error,
    costUsd: formatUsd(record.cost),
    refundedUsd: refundedUsd(record),
    createdAt: isoTime(record.createdAt),
  }
  if (record.keyId !== null) task.keyId = record.keyId
  const startedBy = readStarter(record)
  if (startedBy) task.startedBy = startedBy
  if (progress !== null) task.progress = JSON.parse(progress) as TaskProgress
  const { connectorMs, progress: progressLog } = readRunLog(record)
  if (progressLog) task.progressLog = progressLog
  if (connectorMs !== undefined) task.connectorMs = connectorMs
  if (record.meters !== null || record.rates !== null) task.maxCostUsd = formatUsd(record.cost + record.givenBack)
  if (record.usage !== null) {
    task.usage = record.usage
    task.givenBackUsd = formatUsd(record.givenBack)
  }
  if (record.rates !== null) {
    const { model: _, ...rates } = record.rates[record.tokens?.modelIndex ?? 0]!
    task.rates = receiptRates(rates)
  }
  if (record.tokens !== null) {
    const { modelIndex: _, ...tokens } = record.tokens
    task.tokens = tokens
    task.givenBackUsd = formatUsd(record.givenBack)
  }
  if (request.payloadId !== null) task.requestUri = links.create(request.payloadId)
  if (response && response.payloadId !== null) task.responseUri = links.create(response.payloadId)
  if (connectorIds !== null && connectorIds.length > 0) task.connectorIds = connectorIds
  if (record.tags !== null) task.tags = record.tags
  if (startedAt !== null) task.startedAt = isoTime(startedAt)
  if (expiresAt !== null) task.expiresAt = isoTime(expiresAt)
  if (timeoutMs !== null) task.timeoutSeconds = timeoutMs / 1000
  if (cancelableUntil !== null) task.cancelableUntil = isoTime(cancelableUntil)
  if (completedAt !== null) task.completedAt = isoTime(completedAt)
  if (prunedAt !== null) task.prunedAt = isoTime(prunedAt)
  return task
}

function refundedUsd({ cost, givenBack, status }: Pick<TaskRecord, 'cost' | 'givenBack' | 'status'>): string {
  return formatUsd(status === 'failed' ? cost : givenBack)
}

function inline({ text, payloadId }: StoredJson): Record<string, unknown> | string {
  return payloadId === null ? storedObject(text) : text
}
