import type { Page } from '../list-place.ts'
import type { EpochMs } from '../../kernel/clock.ts'
import { newId } from '../../kernel/ids.ts'
import {
  loginIdleMs,
  loginLifeMs,
  loginsMax,
  type CreateLogin,
  type LoginHolder,
  type LoginRecord,
} from './people-types.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { holderColumns, joinHolder, withHolder, type HolderRow } from './credential-holder.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'

const names = 'id userId method provider userAgent createdAt lastUsedAt expiresAt'
const live = 'user_id = :userId AND expires_at > :now AND last_used_at > :idleSince'

const find = statement<Omit<LoginHolder, keyof HolderRow | 'account'> & HolderRow>(
  'login_find',
  `SELECT logins.id, logins.user_id AS "userId", ${columns('lastUsedAt expiresAt')}, ${holderColumns}
    FROM logins ${joinHolder('logins.user_id')} WHERE token_hash = :tokenHash`,
)
const insert = statement('login_insert', insertInto('logins', `${names} tokenHash`))
const list = statement<LoginRecord>(
  'login_list',
  ({ seq }) => `SELECT ${columns(names)} FROM logins WHERE ${live}
    ORDER BY created_at DESC, ${seq} DESC LIMIT :limit OFFSET :offset`,
)
const count = statement<{ total: number }>('login_count', `SELECT count(*) AS total FROM logins WHERE ${live}`)
const end = statement('login_end', 'DELETE FROM logins WHERE id = :loginId AND user_id = :userId')
const endAll = statement(
  'login_end_all',
  'DELETE FROM logins WHERE user_id = :userId AND id IS DISTINCT FROM :keepLoginId',
)
const endOldest = statement(
  'login_end_oldest',
  ({ seq }) => `DELETE FROM logins WHERE id IN (SELECT id FROM logins WHERE user_id = :userId
    ORDER BY last_used_at DESC, ${seq} DESC LIMIT 1000000 OFFSET :keep)`,
)
const touch = statement(
  'login_touch',
  ({ greatest, members }) => `UPDATE logins SET last_used_at = ${greatest}(last_used_at, used.at)
    FROM ${members(':uses')} WHERE logins.id = used.id`,
)
const purge = statement(
  'login_purge',
  'DELETE FROM logins WHERE id IN (SELECT id FROM logins WHERE expires_at <= :now LIMIT :rowsMax)',
)

export function findLogin(on: Reads, tokenHash: string): Answer<LoginHolder | undefined> {
  return on.get(find, { tokenHash }).map((row) => row && withHolder(row))
}

/** The caller must have locked the user's account. */
export function* insertLogin(tx: Tx, input: CreateLogin): Op<LoginRecord> {
  const { method, provider, tokenHash, userAgent, userId } = input
  const now = yield* tx.now()
  const id = newId('login', now)
  const times = { createdAt: now, lastUsedAt: now, expiresAt: now + loginLifeMs }
  const login = { id, userId, method, provider, userAgent, ...times }
  yield* tx.run(insert, { ...login, tokenHash })
  if ((yield* tx.run(endOldest, { userId, keep: loginsMax })) > 0) tx.holdersChanged('logins')
  tx.made({ table: 'logins', id })
  return login
}

export function* listLogins(
  on: Reads,
  { limit, offset, userId }: Page & { userId: string },
): Op<{ logins: LoginRecord[]; total: number }> {
  const now = yield* on.now()
  const of = { userId, now, idleSince: now - loginIdleMs }
  const rows = on.all(list, { ...of, limit, offset })
  const counted = on.get(count, of)
  return { logins: yield* rows, total: (yield* counted)!.total }
}

export function* endLogin(tx: Tx, of: { userId: string; loginId: string }): Op<boolean> {
  yield* tx.lockAccount({ userId: of.userId })
  tx.holdersChanged('logins')
  return (yield* tx.run(end, of)) === 1
}

export function* endLogins(tx: Tx, userId: string, keepLoginId: string | null): Op<number> {
  yield* tx.lockAccount({ userId })
  tx.holdersChanged('logins')
  return yield* tx.run(endAll, { userId, keepLoginId })
}

export function* touchLogins(tx: Tx, uses: readonly { loginId: string; at: EpochMs }[]): Op<void> {
  tx.holdersChanged('logins')
  const last: Record<string, EpochMs> = {}
  for (const { at, loginId } of uses) last[loginId] = Math.max(at, last[loginId] ?? 0)
  yield* tx.run(touch, { uses: JSON.stringify(last) })
}

/** Deletes expired logins. An idle login is already invalid, but its row remains until it expires. */
export function* purgeLogins(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { now: yield* tx.now(), rowsMax })
}
