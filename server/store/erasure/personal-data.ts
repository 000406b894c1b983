import type { Op, Tx } from '../commands/command.ts'
import { statement } from '../commands/statement.ts'
import { eraseDeliveries, eraseKeys, eraseSessions, eraseTasks, type EraseRows } from './erase-rows.ts'

// Defines how the rows of each table are erased and exported. A test fails for a table without an entry.

export const exportedTypes = [
  'account',
  'key',
  'login',
  'connector',
  'webhook',
  'topup',
  'transaction',
  'task',
  'session',
  'message',
  'payload',
  'act',
] as const
export type ExportedType = (typeof exportedTypes)[number]

export type PersonalTable = {
  /** Deletes or blanks some rows of an erased user and returns how many. Called until it returns 0. */
  erase?: EraseRows
  /** Data that remains after an erasure, and the reason. Null if nothing remains. */
  kept: string | null
  /** Types of export lines that contain the table's rows. Empty if they are not exported. */
  exported: readonly ExportedType[]
}

const ofConnectors = 'connector_id IN (SELECT id FROM connectors WHERE user_id = :userId)'

/** Returns a function that deletes a user's rows from a table. `key` is the table's primary key. */
function rowsOf(table: string, key: string, where = 'user_id = :userId'): EraseRows {
  const some = statement(
    `erase_${table}`,
    `DELETE FROM ${table} WHERE (${key}) IN
      (SELECT ${key} FROM ${table} WHERE ${where} LIMIT :rowsMax)`,
  )
  return function* (tx: Tx, of): Op<number> {
    return yield* tx.run(some, of)
  }
}

const forgetReceipts = statement(
  'erase_receipts',
  `UPDATE topups SET checkout_url = NULL, receipt_url = NULL WHERE id IN (SELECT id FROM topups
    WHERE user_id = :userId AND (checkout_url IS NOT NULL OR receipt_url IS NOT NULL) LIMIT :rowsMax)`,
)
// Reads only the newest turns, because the events of older turns have already been deleted.
const forgetStreams = statement(
  'erase_turn_events',
  `DELETE FROM turn_events WHERE turn_id IN
    (SELECT id FROM turns WHERE user_id = :userId ORDER BY created_at DESC LIMIT :rowsMax)`,
)

const ledger = 'The ledger must add up. Rows contain amounts, times, ids and the description.'

/** Listed in the order of erasure. */
export const personalData: Record<string, PersonalTable> = {
  users: {
    kept: 'The ledger refers to the id. The email address, password and external id are deleted.',
    exported: ['account'],
  },
  deliveries: { erase: eraseDeliveries, kept: null, exported: [] },
  webhooks: { erase: rowsOf('webhooks', 'id'), kept: null, exported: ['webhook'] },
  mails: { erase: rowsOf('mails', 'id'), kept: null, exported: [] },
  invitations: { erase: rowsOf('invitations', 'id'), kept: null, exported: [] },
  identities: { erase: rowsOf('identities', 'issuer, subject'), kept: null, exported: [] },
  trial_credits: {
    kept: 'A hash of the email address or login, which prevents a second trial credit.',
    exported: [],
  },
  logins: { erase: rowsOf('logins', 'id'), kept: null, exported: ['login'] },
  login_attempts: { kept: null, exported: [] },
  client_tokens: { erase: rowsOf('client_tokens', 'id'), kept: null, exported: [] },
  api_keys: { erase: eraseKeys, kept: null, exported: ['key'] },
  key_rates: { kept: null, exported: [] },
  spend_windows: {
    erase: rowsOf('spend_windows', 'owner_id, starts_at', 'user_id = :userId AND owner_id <> :userId'),
    kept: "Spending totals for the user's limit. They are deleted some months after their period.",
    exported: [],
  },
  connector_sign_ins: { erase: rowsOf('connector_sign_ins', 'state_hash', ofConnectors), kept: null, exported: [] },
  connector_grants: { erase: rowsOf('connector_grants', 'connector_id', ofConnectors), kept: null, exported: [] },
  connectors: { erase: rowsOf('connectors', 'id'), kept: null, exported: ['connector'] },
  payment_accounts: { erase: rowsOf('payment_accounts', 'user_id'), kept: null, exported: ['account'] },
  topups: {
    *erase(tx, of) {
      return yield* tx.run(forgetReceipts, of)
    },
    kept: "The ledger refers to them. Rows contain amounts, times and the provider's ids, without links.",
    exported: ['topup'],
  },
  idempotency_keys: { erase: rowsOf('idempotency_keys', 'user_id, operation, key'), kept: null, exported: [] },
  wire_requests: { erase: rowsOf('wire_requests', 'user_id, digest, resource_id'), kept: null, exported: [] },
  abuse_failures: { erase: rowsOf('abuse_failures', 'seq'), kept: null, exported: [] },
  turn_events: {
    *erase(tx, of) {
      return yield* tx.run(forgetStreams, of)
    },
    kept: null,
    exported: [],
  },
  tasks: {
    erase: eraseTasks,
    kept: 'The ledger refers to them. Rows contain ids, kind of credential, status, price, usage and times.',
    exported: ['task'],
  },
  task_tags: { kept: null, exported: ['task'] },
  sessions: { erase: eraseSessions, kept: null, exported: ['session'] },
  messages: { kept: null, exported: ['message'] },
  payloads: { kept: null, exported: ['payload'] },
  payload_parts: { kept: null, exported: ['payload'] },
  session_totals: { kept: 'Counts, which are set to zero.', exported: [] },
  accounts: { kept: 'The ledger needs the balance. The notification threshold is deleted.', exported: ['account'] },
  transactions: { kept: ledger, exported: ['transaction'] },
  turns: { kept: 'The ledger refers to them. Rows contain ids, cost and times.', exported: [] },
  counters: { kept: 'The ledger check needs the counts of tasks and transactions.', exported: [] },
  events: {
    kept: 'The ledger check needs ids, status and amounts. They are deleted after seven days.',
    exported: [],
  },
  book_days: { kept: "The operator's daily totals of spending and cost.", exported: [] },
  book_totals: { kept: "The operator's monthly totals of spending and cost.", exported: [] },
  audit_log: {
    kept: 'Deleting rows would break the hash chain. Rows contain ids, amounts, IP addresses and times.',
    exported: ['act'],
  },
  platform_keys: { kept: null, exported: [] },
  settings: { kept: null, exported: [] },
  probes: { kept: null, exported: [] },
}
