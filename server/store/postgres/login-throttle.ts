import type { EpochMs } from '../../kernel/clock.ts'
import { fullUntil, hashEmail, loginTriesMax, loginWindowMs } from '../login-tries.ts'
import type { AdmitLogin } from '../people.ts'
import { and, desc, eq, gt, inArray, lte, sql, type SQL } from './drizzle.ts'
import { loginAttempts } from './login-tables.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

// Counts tries to log in with a password, those that go on at the same time included: tries of one address wait for
// each other, and so do tries of one client. Everyone takes the address before the client.
const locks = {
  name: 'throttle_lock_email',
  text: 'SELECT pg_advisory_xact_lock(7016, hashtext($1))',
}
const clientLock = { name: 'throttle_lock_client', text: 'SELECT pg_advisory_xact_lock(7017, hashtext($1))' }

/** Counts a try; when it is one too many, counts nothing and says until when. */
export async function admitTry(tx: Transaction, { client, email }: AdmitLogin): Promise<EpochMs | undefined> {
  const emailHash = hashEmail(email)
  await tx.client.query({ ...locks, values: [emailHash] })
  if (client !== null) await tx.client.query({ ...clientLock, values: [client] })
  const now = await tx.now()
  const of = { emailHash, client: client ?? '', after: now - loginWindowMs }
  const { byClient, byEmail, byPair, insert } = statements(tx)
  const [ofPair, ofEmail, ofClient] = await Promise.all([
    byPair.all({ ...of, limit: loginTriesMax.pair }),
    byEmail.all({ ...of, limit: loginTriesMax.email }),
    client === null ? [] : byClient.all({ ...of, limit: loginTriesMax.client }),
  ])
  const until = Math.max(
    fullUntil(ofPair, loginTriesMax.pair),
    fullUntil(ofEmail, loginTriesMax.email),
    fullUntil(ofClient, loginTriesMax.client),
  )
  if (until > now) return until
  await insert.run({ ...of, now })
  return undefined
}

/** The password was right: the tries of this address from this client count no more. */
export async function forgetTries(tx: Transaction, { client, email }: AdmitLogin): Promise<void> {
  await statements(tx).forget.run({ emailHash: hashEmail(email), client: client ?? '' })
}

/** The password is another one: guesses of the one before count no more. */
export async function forgetEmail(tx: Transaction, email: string): Promise<void> {
  await statements(tx).forgetEmail.run({ emailHash: hashEmail(email) })
}

export async function purgeTries(tx: Transaction, rowsMax: number): Promise<number> {
  return await statements(tx).purge.run({ until: (await tx.now()) - loginWindowMs, rowsMax })
}

const statements = statementsOf('throttle', (orm) => {
  const ofEmail = eq(loginAttempts.emailHash, sql.placeholder('emailHash'))
  const ofClient = eq(loginAttempts.client, sql.placeholder('client'))
  const ofPair = and(ofEmail, ofClient)
  const newest = (where: SQL | undefined) =>
    orm
      .select({ at: loginAttempts.at })
      .from(loginAttempts)
      .where(and(where, gt(loginAttempts.at, sql.placeholder('after'))))
      .orderBy(desc(loginAttempts.at))
      .limit(sql.placeholder('limit'))
  return {
    byPair: newest(ofPair),
    byEmail: newest(ofEmail),
    byClient: newest(ofClient),
    insert: orm.insert(loginAttempts).values({
      emailHash: sql.placeholder('emailHash'),
      client: sql.placeholder('client'),
      at: sql.placeholder('now'),
    }),
    forgetEmail: orm.delete(loginAttempts).where(ofEmail),
    forget: orm.delete(loginAttempts).where(ofPair),
    purge: orm.delete(loginAttempts).where(
      inArray(
        loginAttempts.seq,
        orm
          .select({ seq: loginAttempts.seq })
          .from(loginAttempts)
          .where(lte(loginAttempts.at, sql.placeholder('until')))
          .limit(sql.placeholder('rowsMax')),
      ),
    ),
  }
})
