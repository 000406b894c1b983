import type { EpochMs } from '../../kernel/clock.ts'
import { fullUntil, hashEmail, loginTriesMax, loginWindowMs } from './login-tries.ts'
import type { AdmitLogin } from './people-types.ts'
import type { Op, Tx } from '../commands/command.ts'
import { insertInto, statement, type Dialect } from '../commands/statement.ts'

// Limits password login attempts. Locks on the email address and the client serialize attempts, so that concurrent ones
// are counted too. The email address is always locked first.

const newest = (name: string, where: (dialect: Dialect) => string) =>
  statement<{ at: EpochMs }>(
    `throttle_by_${name}`,
    (dialect) => `SELECT at FROM login_attempts WHERE ${where(dialect)} AND at > :after ORDER BY at DESC LIMIT :limit`,
  )
// Use the email index, which has only a few rows per address. The client index can have far more: if the service runs
// behind a proxy that it does not trust, all attempts seem to come from one client.
const ofPair = ({ noIndex }: Dialect) => `email_hash = :emailHash AND ${noIndex}client = :client`
const byPair = newest('pair', ofPair)
const byEmail = newest('email', () => 'email_hash = :emailHash')
const byClient = newest('client', () => 'client = :client')
const insert = statement('throttle_insert', insertInto('login_attempts', 'emailHash client at'))
const forget = statement('throttle_forget', (dialect) => `DELETE FROM login_attempts WHERE ${ofPair(dialect)}`)
const forgetAll = statement('throttle_forget_email', 'DELETE FROM login_attempts WHERE email_hash = :emailHash')
const purge = statement(
  'throttle_purge',
  'DELETE FROM login_attempts WHERE seq IN (SELECT seq FROM login_attempts WHERE at <= :until LIMIT :rowsMax)',
)

/**
 * Counts the attempt and returns undefined. If the attempt exceeds a limit, counts nothing and returns the time at
 * which another attempt is allowed.
 */
export function* admitTry(tx: Tx, { client, email }: AdmitLogin): Op<EpochMs | undefined> {
  const emailHash = hashEmail(email)
  yield* tx.lock('login-email', emailHash)
  if (client !== null) yield* tx.lock('login-client', client)
  const now = yield* tx.now()
  const of = { emailHash, client: client ?? '', after: now - loginWindowMs }
  const ofThisPair = tx.all(byPair, { ...of, limit: loginTriesMax.pair })
  const ofEmail = tx.all(byEmail, { ...of, limit: loginTriesMax.email })
  const ofClient = client === null ? undefined : tx.all(byClient, { ...of, limit: loginTriesMax.client })
  const until = Math.max(
    fullUntil(yield* ofThisPair, loginTriesMax.pair),
    fullUntil(yield* ofEmail, loginTriesMax.email),
    ofClient === undefined ? 0 : fullUntil(yield* ofClient, loginTriesMax.client),
  )
  if (until > now) return until
  yield* tx.run(insert, { emailHash, client: client ?? '', at: now })
  return undefined
}

/** Deletes the login attempts for this email address from this client, after a successful login. */
export function* forgetTries(tx: Tx, { client, email }: AdmitLogin): Op<void> {
  yield* tx.run(forget, { emailHash: hashEmail(email), client: client ?? '' })
}

/** Deletes all login attempts for this email address, after a password change or a login without a password. */
export function* forgetEmail(tx: Tx, email: string): Op<void> {
  yield* tx.run(forgetAll, { emailHash: hashEmail(email) })
}

export function* purgeTries(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - loginWindowMs, rowsMax })
}
