import { createRequire } from 'node:module'
import { codeOf } from '../../../kernel/thrown.ts'
import { keepNulls, readNulls } from '../import/null-characters.ts'

// The part of `pg` that the store uses, loaded with the first pool, so never on SQLite.

export type PgResult = { rows: unknown[]; rowCount: number | null; command: string }
export type PgQuery = {
  name?: string
  text: string
  values?: readonly unknown[]
  rowMode?: 'array'
  /** The connection is closed when the query is not answered within so many milliseconds. */
  query_timeout?: number
}

export type PgClient = {
  query(query: string | PgQuery, values?: readonly unknown[]): Promise<PgResult>
  connection: { stream: { destroy(): unknown } }
  /** With `true` the connection is closed and not used again. */
  release(destroy?: boolean): void
}

export type PgPool = {
  connect(): Promise<PgClient>
  query(query: string | PgQuery, values?: readonly unknown[]): Promise<PgResult>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PooledClient) => void): unknown
}

/** As the pool hands it out for the first time. */
export type PooledClient = {
  on(event: 'error', listener: (error: Error) => void): unknown
  query(...given: unknown[]): Promise<unknown>
  connection: {
    stream: { cork(): void; uncork(): void }
    on(event: 'errorMessage', listener: (error: Error & { code?: string }) => void): unknown
  }
}

/** What the server says of every statement that follows the one that failed, until the transaction is rolled back. */
export const afterFailure = '25P02'
const failures = new WeakMap<object, Error>()

/** Keeps the first error: of pipelined statements, any may be the one whose answer is awaited. */
export function keepFailures(client: PooledClient): void {
  client.connection.on('errorMessage', (error) => {
    if (error.code !== afterFailure) failures.set(client, error)
  })
}

/** No statement of that name is on the connection, or one is there already: it was another connection before. */
const otherConnection = /^(?:26000|42P05)$/

/** Adds to an error what the server cannot know: that a pooler in transaction mode stands between. */
export function explainPooler(client: PooledClient): void {
  client.connection.on('errorMessage', (error) => {
    if (!otherConnection.test(error.code ?? '')) return
    error.message += `, as behind a pooler in transaction mode; ${withoutPooler}`
  })
}

/** What the operator can do. */
export const withoutPooler = 'give ERRAND_DATABASE_URL a direct connection or a pooler in session mode.'

/** The error behind one that says no more than that an earlier statement of the transaction failed. */
export function failureBehind(client: PgClient, error: unknown): unknown {
  const isAfter = codeOf(error) === afterFailure
  return (isAfter && failures.get(client)) || error
}

/**
 * Pipelines the queries that a connection is given in one tick into one write: a write each took a third of the CPU
 * time of an admission.
 */
export function sendTogether(client: PooledClient): void {
  const { stream } = client.connection
  const query = client.query.bind(client)
  let isCorked = false
  const send = () => {
    isCorked = false
    stream.uncork()
  }
  client.query = (...given) => {
    if (!isCorked) {
      isCorked = true
      stream.cork()
      process.nextTick(send)
    }
    return query(...given)
  }
}

/** A connection of its own, beside the pool. */
export type PgListener = {
  connect(): Promise<unknown>
  query(query: string, values?: readonly unknown[]): Promise<PgResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown
  /** Whether it keeps the process from ending. */
  ref(): void
  unref(): void
  end(): Promise<void>
}

type ClientConfig = {
  connectionString: string
  connectionTimeoutMillis: number
  /** The connection is closed when a query is not answered within this long. */
  query_timeout: number
  application_name: string
  keepAlive: boolean
  pipeline: true
}

type PoolConfig = {
  idleTimeoutMillis: number
  connectionString: string
  max: number
  connectionTimeoutMillis: number
  application_name: string
  keepAlive: boolean
  keepAliveInitialDelayMillis: number
  pipeline: boolean
}

type Queries = new (config: unknown) => { query(query: unknown, values?: unknown, ...more: unknown[]): unknown }
type Parse = (text: string) => unknown
type Types = { getTypeParser(type: number, format?: string): Parse; setTypeParser(type: number, parse: Parse): void }
type Driver = {
  Pool: new (config: PoolConfig & { Client: Queries; types: Pick<Types, 'getTypeParser'> }) => PgPool
  Client: Queries
  types: Types
}

const bigintType = 20
const textType = 25

export function newPool(config: PoolConfig): PgPool {
  const { Client, Pool, types } = createRequire(import.meta.url)('pg') as Driver
  // Drizzle asks the driver's own list, and has whole numbers of its columns read itself.
  types.setTypeParser(textType, readNulls)
  const getTypeParser = (type: number, format?: string) =>
    type === bigintType ? Number : types.getTypeParser(type, format)
  return new Pool({ ...config, Client: keepingNulls(Client), types: { getTypeParser } })
}

function keepingNulls(Client: Queries): Queries {
  return class extends Client {
    override query(query: unknown, values?: unknown, ...more: unknown[]): unknown {
      const own = typeof query === 'object' && query !== null && 'values' in query ? query.values : undefined
      const kept = Array.isArray(own) ? keepNulls(own) : own
      const given = kept === own ? query : { ...(query as object), values: kept }
      return super.query(given, Array.isArray(values) ? keepNulls(values) : values, ...more)
    }
  }
}

export function newClient(config: ClientConfig): PgListener {
  const { Client } = createRequire(import.meta.url)('pg') as { Client: new (config: ClientConfig) => PgListener }
  return new Client(config)
}
