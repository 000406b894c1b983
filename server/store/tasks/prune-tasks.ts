import type { EpochMs } from '../../kernel/clock.ts'
import type { Op, Tx } from '../commands/command.ts'
import { columns, moveSetting, statement } from '../commands/statement.ts'

// Deletes the contents of old tasks. The rows and their amounts, times, usage and tags remain, because the ledger
// check and the books need them.

/** Setting that stores the `seq` of the last task that was pruned or skipped. */
const prunedTo = 'tasks-pruned-to'

type Prunable = {
  seq: number
  id: string
  requestPayload: string | null
  responsePayload: string | null
  completedAt: EpochMs | null
  prunedAt: EpochMs | null
}

const position = statement<{ seq: number }>(
  'task_pruned_to',
  `SELECT CAST(value AS bigint) AS seq FROM settings WHERE name = '${prunedTo}'`,
)
const next = statement<Prunable>(
  'task_next_prunable',
  `SELECT ${columns('seq id requestPayload responsePayload completedAt prunedAt')} FROM tasks
    WHERE seq > :after ORDER BY seq LIMIT :rowsMax`,
)
export const withoutContents = `request = '{}', request_payload = NULL, response = NULL, response_payload = NULL,
      error_message = NULL, error_details = NULL, progress = NULL, run_log = NULL`
const prune = statement(
  'task_prune',
  `UPDATE tasks SET pruned_at = :now, ${withoutContents}
    WHERE id = :taskId AND pruned_at IS NULL`,
)
const removePayloads = statement(
  'task_prune_payloads',
  'DELETE FROM payloads WHERE id = :requestPayload OR id = :responsePayload',
)
const moveTo = moveSetting('task_move_pruned_to', prunedTo)

/**
 * Prunes the next tasks that ended at or before `until`, in order of admission. Stops at the first task that is open or
 * ended later, even if later tasks could be pruned. Returns true if there may be more.
 */
export function* pruneTasks(tx: Tx, { rowsMax, until }: { rowsMax: number; until: EpochMs }): Op<boolean> {
  yield* tx.lock('retention')
  const { seq: after = 0 } = (yield* tx.get(position)) ?? {}
  const rows = yield* tx.all(next, { after, rowsMax })
  const firstKept = rows.findIndex(({ completedAt }) => completedAt === null || completedAt > until)
  const old = firstKept === -1 ? rows : rows.slice(0, firstKept)
  if (old.length === 0) return false
  const now = yield* tx.now()
  for (const { id: taskId, prunedAt, requestPayload, responsePayload } of old) {
    if (prunedAt !== null) continue
    if (requestPayload !== null || responsePayload !== null)
      tx.send(removePayloads, { requestPayload, responsePayload })
    tx.send(prune, { taskId, now })
  }
  yield* tx.run(moveTo, { until: old.at(-1)!.seq })
  return old.length === rowsMax
}
