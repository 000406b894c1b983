import type { ProgressNote, AttemptRef } from './task-types.ts'
import type { Op, Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

// Writes by a running attempt that neither end it nor move money.

/** Matches no row after a later attempt has started or the task has ended. */
export const thisAttempt = `id = :taskId AND attempt = :attempt AND status = 'processing' AND queued = 0`

const forbid = statement(
  'task_forbid_cancel',
  `UPDATE tasks SET cancelable_until = coalesce(cancelable_until, :now) WHERE ${thisAttempt}`,
)
const note = statement('task_note_progress', `UPDATE tasks SET progress = :progress WHERE ${thisAttempt}`)

/** Takes the same lock as `cancelTask`, so that the two commands cannot run at the same time. */
export function* forbidCancel(tx: Tx, { attempt, taskId }: AttemptRef): Op<boolean> {
  if (!Number.isSafeInteger(attempt) || !(yield* tx.lockOwner({ taskId }))) return false
  return (yield* tx.run(forbid, { taskId, attempt, now: yield* tx.now() })) > 0
}

/** Saves progress reports, except those of stale attempts. Locks no account, because it moves no money. */
export function* noteProgress(tx: Tx, notes: readonly ProgressNote[]): Op<void> {
  // Update the rows in the same order as lease renewals lock them, so that the two cannot deadlock.
  const inOrder = notes.toSorted((a, b) => (a.taskId < b.taskId ? -1 : 1))
  const noted = inOrder.map(({ attempt, progress, taskId }) => tx.run(note, { taskId, attempt, progress }))
  for (const answer of noted) yield* answer
}
