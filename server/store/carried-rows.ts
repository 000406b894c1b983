import { hash } from 'node:crypto'

/** A row being moved between engines: numbers and strings that every engine supports. */
export type CarriedRow = (string | number | null)[]

/** Order-independent digest of a table's rows. Equal digests mean equal rows. */
export class RowDigest {
  readonly #sums = new BigUint64Array(4)
  rows = 0

  add(row: CarriedRow): void {
    const digest = hash('sha256', JSON.stringify(row), 'buffer')
    for (let at = 0; at < 4; at++) this.#sums[at]! += digest.readBigUInt64LE(at * 8)
    this.rows++
  }

  equals(other: RowDigest): boolean {
    return this.rows === other.rows && this.#sums.every((sum, at) => sum === other.#sums[at])
  }
}

/** Balance, hold, and transaction sum and count per account. Runs unchanged on every engine. */
export const accountSums = `SELECT a.user_id, a.balance, a.held, coalesce(sum(t.amount), 0), count(t.id)
  FROM accounts a LEFT JOIN transactions t ON t.user_id = a.user_id GROUP BY a.user_id`
