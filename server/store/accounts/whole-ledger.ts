import type { Engine } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'
import type { WriteLedger } from './account-types.ts'
import { toTransactionRecord, transactionColumns, type TransactionRow } from './stored-accounts.ts'

const rowsPerPage = 1000

const last = statement<{ seq: number }>('ledger_last', 'SELECT coalesce(max(seq), 0) AS seq FROM transactions')
const page = statement<TransactionRow>(
  'ledger_page',
  `SELECT ${transactionColumns} FROM transactions WHERE seq > :after AND seq <= :until ORDER BY seq LIMIT :limit`,
)

/**
 * Reads all transactions that exist when the read starts, page by page. On PostgreSQL, `read` must use one snapshot,
 * because a transaction can commit after others that have a higher `seq`.
 */
export async function readLedger(read: Engine['read'], write: WriteLedger): Promise<void> {
  const { seq: until } = (await read((on) => on.get(last)))!
  for (let after = 0; ;) {
    const rows = await read((on) => on.all(page, { after, until, limit: rowsPerPage }))
    const end = rows.at(-1)
    if (!end) return
    await write(rows.map(toTransactionRecord))
    after = end.seq
  }
}
