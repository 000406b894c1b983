import type { EpochMs } from '../../kernel/clock.ts'
import { must } from '../../kernel/assert.ts'
import { nextBlockSeconds } from './next-block.ts'
import type { StoreLimits } from '../store.ts'
import type { Op, Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'

// Blocks an account after `abuseFailures` failed tasks within the window. The count then starts again at zero. A block
// that starts within 24 hours of the previous one lasts twice as long, up to the maximum.

const forgetOld = statement(
  'abuse_forget_old',
  'DELETE FROM abuse_failures WHERE user_id = :userId AND failed_at <= :until',
)
const forgetAll = statement('abuse_forget_all', 'DELETE FROM abuse_failures WHERE user_id = :userId')
const add = statement('abuse_add', 'INSERT INTO abuse_failures (user_id, failed_at) VALUES (:userId, :now)')
const count = statement<{ failures: number }>(
  'abuse_count',
  'SELECT count(*) AS failures FROM abuse_failures WHERE user_id = :userId',
)
const block = statement(
  'abuse_block',
  `UPDATE accounts SET blocked_at = :now, blocked_until = :until, block_seconds = :seconds WHERE user_id = :userId`,
)
const lift = statement(
  'abuse_lift',
  'UPDATE accounts SET blocked_until = NULL, connectors_blocked_until = NULL WHERE user_id = :userId',
)
const blockConnectors = statement(
  'abuse_block_connectors',
  'UPDATE accounts SET connectors_blocked_until = :until WHERE user_id = :userId',
)

type Failed = { userId: string; now: EpochMs; limits: StoreLimits }

/** The caller must have locked the user's account. */
export function* countFailure(tx: Tx, { limits, now, userId }: Failed): Op<void> {
  const { abuseFailures: failuresMax, abuseWindowSeconds } = limits
  if (failuresMax === 0) return
  yield* tx.run(forgetOld, { userId, until: now - abuseWindowSeconds * 1000 })
  yield* tx.run(add, { userId, now })
  const { failures } = (yield* tx.get(count, { userId }))!
  if (failures < failuresMax) return
  yield* tx.run(forgetAll, { userId })
  const { blockSeconds, blockedAt, blockedUntil } = must(yield* tx.account(userId), 'a task has an account')
  const seconds = nextBlockSeconds(limits, { now, lastAt: blockedAt, lastSeconds: blockSeconds })
  const until = Math.max(blockedUntil ?? 0, now + seconds * 1000)
  yield* tx.run(block, { userId, now, until, seconds })
}

/**
 * Blocks new tasks with connectors after a failed run that called a connector. The connector's owner can read the
 * agent's work from the call, and then make the run fail to get a refund. The block limits this to once per block
 * duration.
 */
export function* blockAfterCall(tx: Tx, { limits, now, userId }: Failed): Op<void> {
  const { connectorBlockSeconds: seconds } = limits
  if (seconds > 0) yield* tx.run(blockConnectors, { userId, until: now + seconds * 1000 })
}

/** Lifts both blocks and resets the failure count. Returns false if the account was not blocked. */
export function* liftBlock(tx: Tx, userId: string): Op<boolean> {
  const account = yield* tx.lockAccount({ userId })
  yield* tx.run(forgetAll, { userId })
  const until = Math.max(account?.blockedUntil ?? 0, account?.connectorsBlockedUntil ?? 0)
  if (until <= (yield* tx.now())) return false
  yield* tx.run(lift, { userId })
  return true
}
