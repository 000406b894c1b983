import type { EpochMs } from '../../../kernel/clock.ts'
import { must } from '../../../kernel/assert.ts'
import type { AccountOf, CounterChange, MadeRow } from '../../commands/command.ts'
import type { AccountRow } from '../../tables/account-tables.ts'
import { lockAccountRow } from './account-lock.ts'
import { Connection } from './pooled-connection.ts'
import type { Posted } from '../../ledger/posted-totals.ts'
import { codeOf, isLostConnection } from './pg-errors.ts'
import type { PgQuery, PgResult } from './driver.ts'

/**
 * A running command. Commands never deadlock, because they all acquire locks in the same order: one account, then the
 * session, then the task or turn, then counters.
 */
export class Transaction extends Connection {
  /** Written together at the end of the command. */
  readonly changes: CounterChange[] = []
  readonly posted: Posted[] = []
  /** Error from a statement that never reached the server. */
  unsent: unknown
  #made: MadeRow | undefined
  #locked: AccountRow | undefined
  #lockedAt: EpochMs | undefined

  async lockAccount(of: AccountOf): Promise<AccountRow | undefined> {
    const locked = await lockAccountRow(this.client, of)
    if (!locked) return undefined
    this.#locked = locked.account
    this.#lockedAt = locked.now
    return locked.account
  }

  /**
   * Pipelines a statement without waiting for its answer. COMMIT follows immediately, so the account stays locked for
   * one round trip less. If the statement fails, the server rolls the transaction back.
   */
  write(query: PgQuery): Promise<PgResult> {
    const answer = this.client.query(query)
    answer.catch((error: unknown) => {
      if (codeOf(error) === '' && !isLostConnection(error)) this.unsent ??= error
    })
    return answer
  }

  override async now(): Promise<EpochMs> {
    return this.clock || this.#lockedAt === undefined ? await super.now() : this.#lockedAt
  }

  get lockedUserId(): string | undefined {
    return this.#locked?.userId
  }

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
