import type { Clock, EpochMs } from '../../kernel/clock.ts'
import { fullUntil, hashEmail, loginTriesMax, loginWindowMs } from '../login-tries.ts'
import type { AdmitLogin } from '../people.ts'
import { and, desc, eq, gt, inArray, lte, sql, type SQL } from './drizzle.ts'
import type { Connection } from './database.ts'
import { loginAttempts } from './login-tables.ts'

/** Counts tries to log in with a password, those that go on at the same time included. */
export class LoginThrottle {
  readonly #statements
  readonly #clock: Clock

  constructor(connection: Connection, clock: Clock) {
    this.#statements = prepare(connection)
    this.#clock = clock
  }

  /** Counts a try; when it is one too many, counts nothing and says until when. */
  admit({ client, email }: AdmitLogin): EpochMs | undefined {
    const now = this.#clock.now()
    const of = { emailHash: hashEmail(email), client: client ?? '', after: now - loginWindowMs }
    const { byClient, byEmail, byPair } = this.#statements
    const until = Math.max(
      fullUntil(byPair.all({ ...of, limit: loginTriesMax.pair }), loginTriesMax.pair),
      fullUntil(byEmail.all({ ...of, limit: loginTriesMax.email }), loginTriesMax.email),
      client === null ? 0 : fullUntil(byClient.all({ ...of, limit: loginTriesMax.client }), loginTriesMax.client),
    )
    if (until > now) return until
    this.#statements.insert.run({ ...of, now })
    return undefined
  }

  /** The password was right: the tries of this address from this client count no more. */
  forget({ client, email }: AdmitLogin): void {
    this.#statements.forget.run({ emailHash: hashEmail(email), client: client ?? '' })
  }

  /** The password is another one: guesses of the one before count no more. */
  forgetEmail(email: string): void {
    this.#statements.forgetEmail.run({ emailHash: hashEmail(email) })
  }

  purge(rowsMax: number): number {
    return this.#statements.purge.run({ until: this.#clock.now() - loginWindowMs, rowsMax }).changes
  }
}

function prepare({ orm }: Connection) {
  const ofEmail = eq(loginAttempts.emailHash, sql.placeholder('emailHash'))
  const ofClient = eq(loginAttempts.client, sql.placeholder('client'))
  // The plus keeps the planner on the index of addresses, which has at most as many rows of one as are allowed: behind a
  // proxy that nobody named, all tries come from one client.
  const ofPair = and(ofEmail, sql`+${loginAttempts.client} = ${sql.placeholder('client')}`)
  const newest = (where: SQL | undefined) =>
    orm
      .select({ at: loginAttempts.at })
      .from(loginAttempts)
      .where(and(where, gt(loginAttempts.at, sql.placeholder('after'))))
      .orderBy(desc(loginAttempts.at))
      .limit(sql.placeholder('limit'))
      .prepare()
  return {
    byPair: newest(ofPair),
    byEmail: newest(ofEmail),
    byClient: newest(ofClient),
    insert: orm
      .insert(loginAttempts)
      .values({
        emailHash: sql.placeholder('emailHash'),
        client: sql.placeholder('client'),
        at: sql.placeholder('now'),
      })
      .prepare(),
    forgetEmail: orm.delete(loginAttempts).where(ofEmail).prepare(),
    forget: orm.delete(loginAttempts).where(ofPair).prepare(),
    purge: orm
      .delete(loginAttempts)
      .where(
        inArray(
          loginAttempts.seq,
          orm
            .select({ seq: loginAttempts.seq })
            .from(loginAttempts)
            .where(lte(loginAttempts.at, sql.placeholder('until')))
            .limit(sql.placeholder('rowsMax')),
        ),
      )
      .prepare(),
  }
}
