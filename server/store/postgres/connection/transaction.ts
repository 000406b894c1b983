import type { EpochMs } from '../../../kernel/clock.ts'
import { must } from '../../../kernel/assert.ts'
import type { AccountOf, CounterChange, MadeRow } from '../../commands/command.ts'
import type { AccountRow } from '../../tables/account-tables.ts'
import { lockAccountRow } from './account-lock.ts'
import { Connection } from './pooled-connection.ts'
import type { Posted } from '../../posted-totals.ts'
import { codeOf, isLostConnection } from './pg-errors.ts'
import type { PgQuery, PgResult } from './driver.ts'

/**
 * One command at work. Locks are taken in one order, so that commands wait for each other and never in a circle: the
 * account first and alone, then the session, then the task or turn, then counters.
 */
export class Transaction extends Connection {
  /** What the command changed that is written or counted once, at its end. */
  readonly changes: CounterChange[] = []
  readonly posted: Posted[] = []
  /** Pending answers that nobody has awaited yet, in the order of their statements. */
  readonly unanswered: Promise<unknown>[] = []
  /** Why the driver refused to send a statement, of which the server so knows nothing. */
  unsent: unknown
  #made: MadeRow | undefined
  #locked: AccountRow | undefined
  #lockedAt: EpochMs | undefined

  /** Locks the account; undefined when there is none. */
  async lockAccount(of: AccountOf): Promise<AccountRow | undefined> {
    const locked = await lockAccountRow(this.client, of)
    if (!locked) return undefined
    this.#locked = locked.account
    this.#lockedAt = locked.now
    return locked.account
  }

  /**
   * Pipelines a statement whose answer the command does not need. COMMIT follows it immediately, which saves a round
   * trip while the account is locked; when the statement fails, the server rolls the transaction back.
   */
  write(query: PgQuery): Promise<PgResult> {
    const answer = this.client.query(query)
    answer.catch((error: unknown) => {
      if (codeOf(error) === '' && !isLostConnection(error)) this.unsent ??= error
    })
    this.unanswered.push(answer)
    return answer
  }

  /** The time after the account was locked, which no earlier command on the account has passed. */
  override async now(): Promise<EpochMs> {
    return this.clock || this.#lockedAt === undefined ? await super.now() : this.#lockedAt
  }

  get lockedUserId(): string | undefined {
    return this.#locked?.userId
  }

  /** By this row it is found out whether a COMMIT whose answer was lost took place; the first one is enough. */
  made(row: MadeRow): void {
    this.#made ??= row
  }

  get proof(): MadeRow | undefined {
    return this.#made
  }

  get account(): AccountRow {
    return must(this.#locked, 'the account is locked')
  }
}
