import type { ConnectorRecord } from '../records.ts'
import { connectorFieldsBytes, fittingCount, pageBytesMax } from '../byte-bounds.ts'
import { connectorsMax } from '../account-bounds.ts'
import type {
  BoundedPage,
  ConnectorCheck,
  ConnectorOf,
  CreateConnector,
  CreateConnectorResult,
  UpdateConnector,
  UpdateConnectorResult,
} from '../store.ts'
import type { Connection } from './pooled-connection.ts'
import { and, asc, desc, eq, gt, isNotNull, sql } from './drizzle.ts'
import { connectors } from './schema.ts'
import { statementsOf } from './statements.ts'
import type { Transaction } from './transaction.ts'

// Users' connectors. Their secrets come and go encrypted.

type ConnectorRow = typeof connectors.$inferSelect

export async function createConnector(tx: Transaction, input: CreateConnector): Promise<CreateConnectorResult> {
  const { allowedTools, connectorId, ...columns } = input
  const { name, userId } = columns
  await tx.lockAccount({ userId })
  const s = statements(tx)
  if ((await s.count.get({ userId }))!.total >= connectorsMax) return { outcome: 'refused', reason: 'too-many' }
  if (await s.named.get({ userId, name })) return { outcome: 'refused', reason: 'name-taken' }
  const now = await tx.now()
  await s.insert.run({ ...columns, id: connectorId, allowedTools: writeTools(allowedTools), now })
  tx.made({ table: 'connectors', id: connectorId })
  return { outcome: 'created', connector: (await getConnector(tx, { userId, connectorId }))! }
}

export async function getConnector(connection: Connection, of: ConnectorOf): Promise<ConnectorRecord | undefined> {
  const row = await statements(connection).get.get(of)
  return row && toRecord(row)
}

export async function listConnectors(
  connection: Connection,
  { bytesMax = pageBytesMax, limit, offset, userId }: BoundedPage & { userId: string },
): Promise<{ connectors: ConnectorRecord[]; total: number }> {
  const { count, list, sizes } = statements(connection)
  const [sized, counted] = await Promise.all([sizes.all({ userId, limit, offset }), count.get({ userId })])
  const fitting = fittingCount(
    sized.map(({ bytes }) => bytes),
    bytesMax,
  )
  const rows = await list.all({ userId, limit: fitting, offset })
  return { connectors: rows.map(toRecord), total: counted!.total }
}

export async function updateConnector(tx: Transaction, input: UpdateConnector): Promise<UpdateConnectorResult> {
  const { changes, connectorId, ifUpdatedAt, userId } = input
  await tx.lockAccount({ userId })
  const s = statements(tx)
  const row = await s.get.get({ userId, connectorId })
  if (!row) return { outcome: 'refused', reason: 'unknown' }
  if (ifUpdatedAt !== undefined && ifUpdatedAt !== row.updatedAt) return { outcome: 'refused', reason: 'changed' }
  const { allowedTools, ...columns } = changes
  const changed = {
    ...row,
    ...columns,
    ...(allowedTools !== undefined && { allowedTools: writeTools(allowedTools) }),
  }
  const namesake = await s.named.get({ userId, name: changed.name })
  if (namesake && namesake.id !== connectorId) return { outcome: 'refused', reason: 'name-taken' }
  if (changed.url !== row.url || changed.sealed !== row.sealed) {
    Object.assign(changed, { status: 'untested', statusMessage: null, checkedAt: null })
  }
  // A check that began before must not be taken for one of what is stored now, not even within one millisecond.
  changed.updatedAt = Math.max(await tx.now(), row.updatedAt + 1)
  await s.update.run(changed)
  return { outcome: 'updated', connector: toRecord(changed) }
}

export async function deleteConnector(tx: Transaction, of: ConnectorOf): Promise<boolean> {
  await tx.lockAccount({ userId: of.userId })
  return (await statements(tx).delete.run(of)) === 1
}

export async function noteConnectorCheck(tx: Transaction, check: ConnectorCheck): Promise<void> {
  await tx.lockAccount({ userId: check.userId })
  await statements(tx).noteCheck.run({ ...check, now: await tx.now() })
}

export async function sealedConnectors(
  connection: Connection,
  page: { afterId: string; limit: number },
): Promise<ConnectorRecord[]> {
  return (await statements(connection).sealed.all(page)).map(toRecord)
}

export async function resealConnector(
  tx: Transaction,
  change: { connectorId: string; from: string; to: string },
): Promise<boolean> {
  return (await statements(tx).reseal.run(change)) === 1
}

function writeTools(tools: readonly string[] | null): string | null {
  return tools && JSON.stringify(tools)
}

function toRecord({ allowedTools, seq: _, ...row }: ConnectorRow): ConnectorRecord {
  return { ...row, allowedTools: allowedTools === null ? null : (JSON.parse(allowedTools) as string[]) }
}

const statements = statementsOf('connector', (orm) => {
  const ofUser = eq(connectors.userId, sql.placeholder('userId'))
  const hasId = eq(connectors.id, sql.placeholder('connectorId'))
  const thisConnector = and(hasId, ofUser)
  return {
    insert: orm.insert(connectors).values({
      id: sql.placeholder('id'),
      userId: sql.placeholder('userId'),
      name: sql.placeholder('name'),
      url: sql.placeholder('url'),
      server: sql.placeholder('server'),
      authType: sql.placeholder('authType'),
      sealed: sql.placeholder('sealed'),
      allowedTools: sql.placeholder('allowedTools'),
      status: 'untested',
      createdAt: sql.placeholder('now'),
      updatedAt: sql.placeholder('now'),
    }),
    get: orm.select().from(connectors).where(thisConnector),
    named: orm
      .select({ id: connectors.id })
      .from(connectors)
      .where(and(ofUser, eq(connectors.name, sql.placeholder('name')))),
    count: orm
      .select({ total: sql<number>`count(*)`.mapWith(Number) })
      .from(connectors)
      .where(ofUser),
    sizes: orm
      .select({
        bytes:
          sql<number>`${sql.raw(String(connectorFieldsBytes))} + coalesce(octet_length(${connectors.allowedTools}), 0)`.mapWith(
            Number,
          ),
      })
      .from(connectors)
      .where(ofUser)
      .orderBy(desc(connectors.createdAt), desc(connectors.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
    list: orm
      .select()
      .from(connectors)
      .where(ofUser)
      .orderBy(desc(connectors.createdAt), desc(connectors.seq))
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset')),
    update: orm
      .update(connectors)
      .set({
        name: sql`${sql.placeholder('name')}`,
        url: sql`${sql.placeholder('url')}`,
        authType: sql`${sql.placeholder('authType')}`,
        sealed: sql`${sql.placeholder('sealed')}`,
        allowedTools: sql`${sql.placeholder('allowedTools')}`,
        status: sql`${sql.placeholder('status')}`,
        statusMessage: sql`${sql.placeholder('statusMessage')}`,
        checkedAt: sql`${sql.placeholder('checkedAt')}`,
        updatedAt: sql`${sql.placeholder('updatedAt')}`,
      })
      .where(eq(connectors.id, sql.placeholder('id'))),
    delete: orm.delete(connectors).where(thisConnector),
    noteCheck: orm
      .update(connectors)
      .set({
        status: sql`${sql.placeholder('status')}`,
        statusMessage: sql`${sql.placeholder('statusMessage')}`,
        checkedAt: sql`${sql.placeholder('now')}`,
      })
      .where(and(thisConnector, eq(connectors.updatedAt, sql.placeholder('updatedAt')))),
    sealed: orm
      .select()
      .from(connectors)
      .where(and(isNotNull(connectors.sealed), gt(connectors.id, sql.placeholder('afterId'))))
      .orderBy(asc(connectors.id))
      .limit(sql.placeholder('limit')),
    reseal: orm
      .update(connectors)
      .set({ sealed: sql`${sql.placeholder('to')}` })
      .where(and(hasId, eq(connectors.sealed, sql.placeholder('from')))),
  }
})
