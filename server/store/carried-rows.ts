import { hash } from 'node:crypto'

/** A row on its way from one engine to another: the numbers and texts that every engine holds. */
export type CarriedRow = (string | number | null)[]

/** What the rows of one table are, whatever their order: equal digests are equal rows. */
export class RowDigest {
  readonly #sums = new BigUint64Array(4)
  rows = 0

  add(row: CarriedRow): void {
    const digest = hash('sha256', JSON.stringify(row), 'buffer')
    // Each sum wraps around at 2^64.
    for (let at = 0; at < 4; at++) this.#sums[at]! += digest.readBigUInt64LE(at * 8)
    this.rows++
  }

  equals(other: RowDigest): boolean {
    return this.rows === other.rows && this.#sums.every((sum, at) => sum === other.#sums[at])
  }
}

/** Of each account, so that every engine can be asked for the same. */
export const accountSums = `SELECT a.user_id, a.balance, a.held, coalesce(sum(t.amount), 0), count(t.id)
  FROM accounts a LEFT JOIN transactions t ON t.user_id = a.user_id GROUP BY a.user_id`
