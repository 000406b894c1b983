import type { ConnectorStatus, ConnectorAuthType, ConnectorOf, ConnectorRecord } from './connector-types.ts'
import type { BoundedPage } from '../list-place.ts'
import { connectorsMax } from '../limits/account-bounds.ts'
import { connectorFieldsBytes, fittingCount, pageBytesMax } from '../byte-bounds.ts'
import type {
  ConnectorCheck,
  CreateConnector,
  CreateConnectorResult,
  UpdateConnector,
  UpdateConnectorResult,
} from '../store.ts'
import type { Op, Reads, Tx } from '../commands/command.ts'
import { assign, columns, insertInto, statement } from '../commands/statement.ts'
import { removeGrant } from './grant-ends.ts'

type Row = Omit<ConnectorRecord, 'allowedTools'> & { allowedTools: string | null }

const made = 'id userId name url server authType sealed allowedTools status createdAt'
const row = columns(`${made} statusMessage checkedAt updatedAt`)
const thisConnector = 'id = :connectorId AND user_id = :userId'
const page = (seq: string) => `FROM connectors WHERE user_id = :userId
  ORDER BY created_at DESC, ${seq} DESC LIMIT :limit OFFSET :offset`

const insert = statement('connector_insert', insertInto('connectors', `${made} updatedAt`))
const get = statement<Row>('connector_get', `SELECT ${row} FROM connectors WHERE ${thisConnector}`)
const named = statement<{ id: string }>(
  'connector_named',
  'SELECT id FROM connectors WHERE user_id = :userId AND name = :name',
)
const count = statement<{ total: number }>(
  'connector_count',
  'SELECT count(*) AS total FROM connectors WHERE user_id = :userId',
)
const sizes = statement<{ bytes: number }>(
  'connector_sizes',
  ({ seq }) => `SELECT ${connectorFieldsBytes} + coalesce(octet_length(allowed_tools), 0) AS bytes ${page(seq)}`,
)
const list = statement<Row>('connector_list', ({ seq }) => `SELECT ${row} ${page(seq)}`)
const changed = 'name url authType sealed allowedTools status statusMessage checkedAt'
const update = statement('connector_update', `UPDATE connectors SET ${assign(`${changed} updatedAt`)} WHERE id = :id`)
const status = statement(
  'connector_status',
  `UPDATE connectors SET ${assign('status statusMessage checkedAt updatedAt')} WHERE id = :id`,
)
const remove = statement('connector_delete', `DELETE FROM connectors WHERE ${thisConnector}`)
const noteCheck = statement(
  'connector_note_check',
  `UPDATE connectors SET ${assign('status statusMessage checkedAt')}
    WHERE ${thisConnector} AND updated_at = :updatedAt`,
)
const sealed = statement<Row>(
  'connector_sealed',
  `SELECT ${row} FROM connectors WHERE sealed IS NOT NULL AND id > :afterId ORDER BY id LIMIT :limit`,
)
const reseal = statement(
  'connector_reseal',
  'UPDATE connectors SET sealed = :to WHERE id = :connectorId AND sealed = :from',
)

export function* createConnector(tx: Tx, input: CreateConnector): Op<CreateConnectorResult> {
  const { allowedTools, connectorId, ...columnsGiven } = input
  const { name, userId } = columnsGiven
  yield* tx.lockAccount({ userId })
  if ((yield* tx.get(count, { userId }))!.total >= connectorsMax) return { outcome: 'refused', reason: 'too-many' }
  if (yield* tx.get(named, { userId, name })) return { outcome: 'refused', reason: 'name-taken' }
  const now = yield* tx.now()
  const times = { createdAt: now, updatedAt: now }
  const written = { id: connectorId, ...columnsGiven, ...times, allowedTools: writeTools(allowedTools) }
  yield* tx.run(insert, { ...written, status: unchecked(written.authType) })
  tx.made({ table: 'connectors', id: connectorId })
  return { outcome: 'created', connector: (yield* getConnector(tx, { userId, connectorId }))! }
}

export function* getConnector(on: Reads, of: ConnectorOf): Op<ConnectorRecord | undefined> {
  const found = yield* on.get(get, of)
  return found && toRecord(found)
}

export function* listConnectors(
  on: Reads,
  { bytesMax = pageBytesMax, limit, offset, userId }: BoundedPage & { userId: string },
): Op<{ connectors: ConnectorRecord[]; total: number }> {
  const sized = on.all(sizes, { userId, limit, offset })
  const counted = on.get(count, { userId })
  const fitting = fittingCount(
    (yield* sized).map(({ bytes }) => bytes),
    bytesMax,
  )
  const rows = yield* on.all(list, { userId, limit: fitting, offset })
  return { connectors: rows.map(toRecord), total: (yield* counted)!.total }
}

export function* updateConnector(tx: Tx, input: UpdateConnector): Op<UpdateConnectorResult> {
  const { changes, connectorId, ifUpdatedAt, userId } = input
  yield* tx.lockAccount({ userId })
  const known = yield* tx.get(get, { userId, connectorId })
  if (!known) return { outcome: 'refused', reason: 'unknown' }
  if (ifUpdatedAt !== undefined && ifUpdatedAt !== known.updatedAt) return { outcome: 'refused', reason: 'changed' }
  const { allowedTools, ...rest } = changes
  const next = { ...known, ...rest, ...(allowedTools !== undefined && { allowedTools: writeTools(allowedTools) }) }
  const namesake = yield* tx.get(named, { userId, name: next.name })
  if (namesake && namesake.id !== connectorId) return { outcome: 'refused', reason: 'name-taken' }
  if (next.url !== known.url || next.sealed !== known.sealed) {
    Object.assign(next, { status: unchecked(next.authType), statusMessage: null, checkedAt: null })
    // Tokens issued for one URL or client must not be sent to another.
    yield* removeGrant(tx, { connectorId, userId })
  }
  // Always increase `updatedAt`, even within the same millisecond. Otherwise a running check of the old settings would
  // set the status of the new ones.
  next.updatedAt = Math.max(yield* tx.now(), known.updatedAt + 1)
  yield* tx.run(update, next)
  return { outcome: 'updated', connector: toRecord(next) }
}

export function* deleteConnector(tx: Tx, of: ConnectorOf): Op<boolean> {
  yield* tx.lockAccount({ userId: of.userId })
  yield* removeGrant(tx, of)
  return (yield* tx.run(remove, of)) === 1
}

/**
 * Sets a connector's status. Results of checks still in progress are then ignored. The caller must have locked the
 * account.
 */
export function* setStatus(
  tx: Tx,
  { id, updatedAt }: ConnectorRecord,
  to: Pick<ConnectorRecord, 'status' | 'statusMessage'>,
): Op<void> {
  yield* tx.run(status, { ...to, id, checkedAt: null, updatedAt: Math.max(yield* tx.now(), updatedAt + 1) })
}

export function* noteConnectorCheck(tx: Tx, check: ConnectorCheck): Op<void> {
  yield* tx.lockAccount({ userId: check.userId })
  yield* tx.run(noteCheck, { ...check, checkedAt: yield* tx.now() })
}

export function* sealedConnectors(on: Reads, of: { afterId: string; limit: number }): Op<ConnectorRecord[]> {
  return (yield* on.all(sealed, of)).map(toRecord)
}

export function* resealConnector(tx: Tx, change: { connectorId: string; from: string; to: string }): Op<boolean> {
  return (yield* tx.run(reseal, change)) === 1
}

function unchecked(authType: ConnectorAuthType): ConnectorStatus {
  return authType === 'oauth' ? 'needs_sign_in' : 'untested'
}

function writeTools(tools: readonly string[] | null): string | null {
  return tools && JSON.stringify(tools)
}

function toRecord({ allowedTools, ...connector }: Row): ConnectorRecord {
  return { ...connector, allowedTools: allowedTools === null ? null : (JSON.parse(allowedTools) as string[]) }
}
