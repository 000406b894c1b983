import type { EpochMs } from '../../kernel/clock.ts'
import type { Op, Tx } from '../commands/command.ts'
import { columns, statement } from '../commands/statement.ts'
import { eventIdOf } from '../events/event-commands.ts'
import { pruneSession } from '../sessions/session-commands.ts'
import { withoutContents } from '../tasks/prune-tasks.ts'

// Erases rows from tables that need more than one statement. The caller must have locked the account.

export type EraseRows = (tx: Tx, of: { userId: string; rowsMax: number }) => Op<number>

const sessionsMax = 5

const deliveriesOf = statement<{ eventId: string; webhookId: string }>(
  'erase_next_deliveries',
  `SELECT ${columns('eventId webhookId')} FROM deliveries
    WHERE webhook_id IN (SELECT id FROM webhooks WHERE user_id = :userId) LIMIT :rowsMax`,
)
const removeDelivery = statement(
  'erase_delivery',
  'DELETE FROM deliveries WHERE event_id = :eventId AND webhook_id = :webhookId',
)
// Updates the stored number of deliveries, because the ledger check compares it with the number of rows.
const recount = statement(
  'erase_recount_deliveries',
  `UPDATE events SET deliveries = (SELECT count(*) FROM deliveries WHERE event_id = :eventId)
    WHERE id = :eventId AND deliveries IS NOT NULL`,
)
const removeCallback = statement(
  'erase_callback',
  'DELETE FROM deliveries WHERE event_id = :eventId AND url IS NOT NULL',
)

export const eraseDeliveries: EraseRows = function* (tx, of) {
  const rows = yield* tx.all(deliveriesOf, of)
  for (const { eventId, webhookId } of rows) {
    tx.send(removeDelivery, { eventId, webhookId })
    tx.send(recount, { eventId })
  }
  return rows.length
}

const someKeys = 'SELECT id FROM api_keys WHERE user_id = :userId ORDER BY id LIMIT :rowsMax'
const removeRates = statement('erase_key_rates', `DELETE FROM key_rates WHERE key_id IN (${someKeys})`)
const removeKeys = statement('erase_keys', `DELETE FROM api_keys WHERE id IN (${someKeys})`)

export const eraseKeys: EraseRows = function* (tx, of) {
  // Some changes to key rates and spend windows may still exist only in memory.
  tx.used.writeOut()
  tx.send(removeRates, of)
  return yield* tx.run(removeKeys, of)
}

type Erasable = {
  id: string
  seq: number
  createdAt: EpochMs
  completedAt: EpochMs | null
  requestPayload: string | null
  responsePayload: string | null
  tags: string | null
  webhookUrl: string | null
}
// Starts at the last erased task, because erased tasks remain in the index and would be scanned again.
const nextTasks = statement<Erasable>(
  'erase_next_tasks',
  `SELECT ${columns('id seq createdAt completedAt requestPayload responsePayload tags webhookUrl')} FROM tasks
    WHERE user_id = :userId AND created_at >= (SELECT erased_to FROM users WHERE id = :userId)
      AND (pruned_at IS NULL OR tags IS NOT NULL OR webhook_url IS NOT NULL)
    ORDER BY created_at, seq LIMIT :rowsMax`,
)
const blankTask = statement(
  'erase_task',
  `UPDATE tasks SET pruned_at = coalesce(pruned_at, CAST(:now AS bigint)), tags = NULL, webhook_url = NULL,
      ${withoutContents}
    WHERE id = :taskId`,
)
const removeTag = statement(
  'erase_task_tag',
  'DELETE FROM task_tags WHERE user_id = :userId AND tag = :tag AND task_created_at = :createdAt AND task_seq = :seq',
)
const removePayloads = statement(
  'erase_payloads',
  'DELETE FROM payloads WHERE id = :requestPayload OR id = :responsePayload',
)
const moveTo = statement('erase_move_to', 'UPDATE users SET erased_to = :createdAt WHERE id = :userId')

/** Blanks tasks in order of creation. Stops at the first open task. */
export const eraseTasks: EraseRows = function* (tx, { rowsMax, userId }) {
  const rows = yield* tx.all(nextTasks, { userId, rowsMax })
  const open = rows.findIndex(({ completedAt }) => completedAt === null)
  const ended = open === -1 ? rows : rows.slice(0, open)
  const now = yield* tx.now()
  for (const { createdAt, id: taskId, requestPayload, responsePayload, seq, tags, webhookUrl } of ended) {
    if (requestPayload !== null || responsePayload !== null)
      tx.send(removePayloads, { requestPayload, responsePayload })
    for (const [name, value] of Object.entries(JSON.parse(tags ?? '{}') as Record<string, string>)) {
      tx.send(removeTag, { userId, tag: `${name}:${value}`, createdAt, seq })
    }
    if (webhookUrl !== null) {
      const eventId = eventIdOf(taskId)
      tx.send(removeCallback, { eventId })
      tx.send(recount, { eventId })
    }
    tx.send(blankTask, { taskId, now })
  }
  const last = ended.at(-1)
  if (last) yield* tx.run(moveTo, { userId, createdAt: last.createdAt })
  return ended.length
}

const nextSessions = statement<{ sessionId: string }>(
  'erase_next_sessions',
  `SELECT id AS "sessionId" FROM sessions WHERE user_id = :userId AND open_turn_id IS NULL LIMIT ${sessionsMax}`,
)

export const eraseSessions: EraseRows = function* (tx, { userId }) {
  const rows = yield* tx.all(nextSessions, { userId })
  for (const { sessionId } of rows) yield* pruneSession(tx, { userId, sessionId, until: Number.MAX_SAFE_INTEGER })
  return rows.length
}
