import type { Clock } from '../../kernel/clock.ts'
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
import type { Connection } from './database.ts'
import { and, asc, desc, eq, gt, isNotNull, sql } from './drizzle.ts'
import { connectors } from './schema.ts'

type ConnectorRow = typeof connectors.$inferSelect

/** Users' connectors. Their secrets come and go encrypted. */
export class ConnectorRows {
  readonly #statements
  readonly #clock: Clock

  constructor(connection: Connection, clock: Clock) {
    this.#statements = prepare(connection)
    this.#clock = clock
  }

  create({ allowedTools, connectorId, ...input }: CreateConnector): CreateConnectorResult {
    const { name, userId } = input
    if (this.#statements.count.get({ userId })!.total >= connectorsMax)
      return { outcome: 'refused', reason: 'too-many' }
    if (this.#statements.named.get({ userId, name })) return { outcome: 'refused', reason: 'name-taken' }
    const now = this.#clock.now()
    this.#statements.insert.run({ ...input, id: connectorId, allowedTools: writeTools(allowedTools), now })
    return { outcome: 'created', connector: this.get({ userId, connectorId })! }
  }

  get(of: ConnectorOf): ConnectorRecord | undefined {
    const row = this.#statements.get.get(of)
    return row && toRecord(row)
  }

  list(of: BoundedPage & { userId: string }): { connectors: ConnectorRecord[]; total: number } {
    const { bytesMax = pageBytesMax, limit, offset, userId } = of
    const sizes = this.#statements.sizes.all({ userId, limit, offset }).map(({ bytes }) => bytes)
    const rows = this.#statements.list.all({ userId, limit: fittingCount(sizes, bytesMax), offset })
    return { connectors: rows.map(toRecord), total: this.#statements.count.get({ userId })!.total }
  }

  update({ changes, connectorId, ifUpdatedAt, userId }: UpdateConnector): UpdateConnectorResult {
    const row = this.#statements.get.get({ userId, connectorId })
    if (!row) return { outcome: 'refused', reason: 'unknown' }
    if (ifUpdatedAt !== undefined && ifUpdatedAt !== row.updatedAt) return { outcome: 'refused', reason: 'changed' }
    const { allowedTools, ...columns } = changes
    const changed = {
      ...row,
      ...columns,
      ...(allowedTools !== undefined && { allowedTools: writeTools(allowedTools) }),
    }
    const namesake = this.#statements.named.get({ userId, name: changed.name })
    if (namesake && namesake.id !== connectorId) return { outcome: 'refused', reason: 'name-taken' }
    if (changed.url !== row.url || changed.sealed !== row.sealed) {
      Object.assign(changed, { status: 'untested', statusMessage: null, checkedAt: null })
    }
    // A check that began before must not be taken for one of what is stored now, not even within one millisecond.
    changed.updatedAt = Math.max(this.#clock.now(), row.updatedAt + 1)
    this.#statements.update.run(changed)
    return { outcome: 'updated', connector: toRecord(changed) }
  }

  delete(of: ConnectorOf): boolean {
    return this.#statements.delete.run(of).changes === 1
  }

  noteCheck(check: ConnectorCheck): void {
    this.#statements.noteCheck.run({ ...check, now: this.#clock.now() })
  }

  sealed(page: { afterId: string; limit: number }): ConnectorRecord[] {
    return this.#statements.sealed.all(page).map(toRecord)
  }

  reseal(change: { connectorId: string; from: string; to: string }): boolean {
    return this.#statements.reseal.run(change).changes === 1
  }
}

function writeTools(tools: readonly string[] | null): string | null {
  return tools && JSON.stringify(tools)
}

function toRecord({ allowedTools, ...row }: ConnectorRow): ConnectorRecord {
  return { ...row, allowedTools: allowedTools === null ? null : (JSON.parse(allowedTools) as string[]) }
}

function prepare({ orm }: Connection) {
  const ofUser = eq(connectors.userId, sql.placeholder('userId'))
  const hasId = eq(connectors.id, sql.placeholder('connectorId'))
  const thisConnector = and(hasId, ofUser)
  return {
    insert: orm
      .insert(connectors)
      .values({
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
      })
      .prepare(),
    get: orm.select().from(connectors).where(thisConnector).prepare(),
    named: orm
      .select({ id: connectors.id })
      .from(connectors)
      .where(and(ofUser, eq(connectors.name, sql.placeholder('name'))))
      .prepare(),
    count: orm
      .select({ total: sql<number>`count(*)` })
      .from(connectors)
      .where(ofUser)
      .prepare(),
    sizes: orm
      .select({
        bytes: sql<number>`${sql.raw(String(connectorFieldsBytes))} + coalesce(octet_length(${connectors.allowedTools}), 0)`,
      })
      .from(connectors)
      .where(ofUser)
      .orderBy(desc(connectors.createdAt), sql`rowid DESC`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare(),
    list: orm
      .select()
      .from(connectors)
      .where(ofUser)
      .orderBy(desc(connectors.createdAt), sql`rowid DESC`)
      .limit(sql.placeholder('limit'))
      .offset(sql.placeholder('offset'))
      .prepare(),
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
      .where(eq(connectors.id, sql.placeholder('id')))
      .prepare(),
    delete: orm.delete(connectors).where(thisConnector).prepare(),
    noteCheck: orm
      .update(connectors)
      .set({
        status: sql`${sql.placeholder('status')}`,
        statusMessage: sql`${sql.placeholder('statusMessage')}`,
        checkedAt: sql`${sql.placeholder('now')}`,
      })
      .where(and(thisConnector, eq(connectors.updatedAt, sql.placeholder('updatedAt'))))
      .prepare(),
    sealed: orm
      .select()
      .from(connectors)
      .where(and(isNotNull(connectors.sealed), gt(connectors.id, sql.placeholder('afterId'))))
      .orderBy(asc(connectors.id))
      .limit(sql.placeholder('limit'))
      .prepare(),
    reseal: orm
      .update(connectors)
      .set({ sealed: sql`${sql.placeholder('to')}` })
      .where(and(hasId, eq(connectors.sealed, sql.placeholder('from'))))
      .prepare(),
  }
}
