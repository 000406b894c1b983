import type { EpochMs } from '../../kernel/clock.ts'
import { fullUntil, hashEmail, loginTriesMax, loginWindowMs } from './login-tries.ts'
import type { AdmitLogin } from './people-types.ts'
import type { Op, Tx } from '../commands/command.ts'
import { insertInto, statement, type Dialect } from '../commands/statement.ts'

// Counts password login attempts. Locks serialize the attempts for one email and the attempts from one client, so that
// simultaneous attempts are counted too. The email is always locked before the client.

const newest = (name: string, where: (dialect: Dialect) => string) =>
  statement<{ at: EpochMs }>(
    `throttle_by_${name}`,
    (dialect) => `SELECT at FROM login_attempts WHERE ${where(dialect)} AND at > :after ORDER BY at DESC LIMIT :limit`,
  )
// Use the email index, which has at most the allowed number of rows per email. The client index may have far more: if a
// proxy is missing from the configuration, all attempts seem to come from one client.
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

/** Counts an attempt. If the attempt exceeds a limit, counts nothing and returns the time when the limit ends. */
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

/** Forgets attempts for this email from this client, after an attempt with the right password. */
export function* forgetTries(tx: Tx, { client, email }: AdmitLogin): Op<void> {
  yield* tx.run(forget, { emailHash: hashEmail(email), client: client ?? '' })
}

/** Forgets all attempts for this email, after a password change or after a login that did not need the password. */
export function* forgetEmail(tx: Tx, email: string): Op<void> {
  yield* tx.run(forgetAll, { emailHash: hashEmail(email) })
}

export function* purgeTries(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - loginWindowMs, rowsMax })
}
