import { z } from 'zod'
import { toTransaction } from '../account/list-transactions.ts'
import type { Transaction } from '../account/account-schema.ts'
import { csvRow } from '../kernel/csv-text.ts'
import { timeInput } from '../kernel/wire-types.ts'
import { parseInput } from './command-options.ts'
import { withStore } from './open-store.ts'

const time = timeInput.transform((text) => Date.parse(text)).optional()
const Options = z.object({
  data: z.string().optional(),
  format: z.enum(['csv', 'ndjson']),
  from: time,
  to: time,
})

const columns = [
  'createdAt',
  'id',
  'userId',
  'type',
  'amountUsd',
  'balanceAfterUsd',
  'taskId',
  'sessionId',
  'turnId',
  'topupId',
  'description',
] as const satisfies (keyof Transaction)[]

/** Waits for the reader of standard output after each page, so that memory use does not grow with the ledger. */
export async function exportLedger(given: object): Promise<void> {
  const { data, format, from, to } = parseInput(Options, given)
  const lineOf =
    format === 'csv'
      ? (transaction: Transaction) => csvRow(columns.map((column) => transaction[column]))
      : (transaction: Transaction) => `${JSON.stringify(transaction)}\n`
  // The failed write already reports a closed pipe.
  process.stdout.on('error', () => {})
  await withStore({ ...(data !== undefined && { data }) }, async (store) => {
    if (format === 'csv') await write(csvRow(columns))
    await store.readLedger(async (transactions) => {
      const within = transactions.filter(
        ({ createdAt }) => (from === undefined || createdAt >= from) && (to === undefined || createdAt < to),
      )
      await write(within.map((record) => lineOf(toTransaction(record))).join(''))
    })
  })
}

function write(text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => (error ? reject(error) : resolve()))
  })
}
