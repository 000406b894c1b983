import type { z } from 'zod'
import { csvRow, tagsText } from '../kernel/csv-text.ts'
import { readRange, type ListPlace } from '../store/list-place.ts'
import type { Store } from '../store/store.ts'
import { readFilters, toListItem } from './read-task.ts'
import type { ExportTasksInput, TaskListItem } from './task-schema.ts'

const columns: Readonly<Record<string, (task: TaskListItem) => string | number | undefined>> = {
  id: ({ id }) => id,
  agentId: ({ agentId }) => agentId,
  endpointId: ({ endpointId }) => endpointId,
  status: ({ status }) => status,
  errorCode: ({ errorCode }) => errorCode,
  costUsd: ({ costUsd }) => costUsd,
  refundedUsd: ({ refundedUsd }) => refundedUsd,
  keyId: ({ keyId }) => keyId,
  tags: ({ tags }) => tagsText(tags),
  createdAt: ({ createdAt }) => createdAt,
  startedAt: ({ startedAt }) => startedAt,
  completedAt: ({ completedAt }) => completedAt,
  queuedMs: ({ createdAt, startedAt }) => msBetween(createdAt, startedAt),
  ranMs: ({ completedAt, startedAt }) => msBetween(startedAt, completedAt),
  startedBy: ({ startedBy }) => startedBy?.kind,
  startedById: ({ startedBy }) => startedBy?.id,
}

/** On SQLite, reading a page blocks the event loop. 250 rows take a few milliseconds. */
const limit = 250

type ExportTasks = { input: z.output<typeof ExportTasksInput>; userId: string; isCsv: boolean }

/**
 * Yields one page of tasks at a time: one JSON object per line, or CSV with a header. Excludes tasks that are created
 * during the export.
 */
export async function* exportTasks(store: Store, { input, isCsv, userId }: ExportTasks): AsyncGenerator<string> {
  const { range } = readRange('tasks', userId, { ...input, limit, offset: 0 })
  const toLine = isCsv ? toRow : (task: TaskListItem) => `${JSON.stringify(task)}\n`
  if (isCsv) yield csvRow(Object.keys(columns))
  let after: ListPlace | undefined
  do {
    const page = await store.exportTasks({ userId, ...readFilters(input), ...range, ...(after && { after }), limit })
    yield page.tasks.map((record) => toLine(toListItem(record))).join('')
    after = page.next
  } while (after)
}

function toRow(task: TaskListItem): string {
  return csvRow(Object.values(columns).map((cellOf) => cellOf(task)))
}

function msBetween(from: string | undefined, to: string | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Date.parse(to) - Date.parse(from)
}
