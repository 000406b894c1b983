import { createRequire } from 'node:module'
import { codeOf } from '../../../kernel/thrown.ts'
import { keepNulls, readNulls } from './null-characters.ts'

// Types for the part of `pg` that the store uses. `pg` is loaded when the first pool or client is created, so SQLite
// never loads it.

export type PgResult = { rows: unknown[]; rowCount: number | null; command: string }
export type PgQuery = {
  name?: string
  text: string
  values?: readonly unknown[]
  rowMode?: 'array'
  /** Closes the connection after this many milliseconds without an answer. */
  query_timeout?: number
}

export type PgClient = {
  query(query: string | PgQuery, values?: readonly unknown[]): Promise<PgResult>
  connection: { stream: { destroy(): unknown } }
  /** If `destroy` is true, closes the connection instead of returning it to the pool. */
  release(destroy?: boolean): void
}

export type PgPool = {
  /**
   * `waitingCount` is the number of calls that wait for a connection. A call waits until the next tick even if a
   * connection is idle.
   */
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  connect(): Promise<PgClient>
  query(query: string | PgQuery, values?: readonly unknown[]): Promise<PgResult>
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PooledClient) => void): unknown
}

export type PooledClient = {
  on(event: 'error', listener: (error: Error) => void): unknown
  query(...given: unknown[]): Promise<unknown>
  connection: {
    stream: { cork(): void; uncork(): void }
    on(event: 'errorMessage', listener: (error: Error & { code?: string }) => void): unknown
  }
}

/** SQLSTATE of all statements after a failed one, until the transaction is rolled back. */
export const afterFailure = '25P02'
const failures = new WeakMap<object, Error>()

/** Stores the original error, because a command may await only a later statement in the pipeline. */
export function keepFailures(client: PooledClient): void {
  client.connection.on('errorMessage', (error) => {
    if (error.code !== afterFailure) failures.set(client, error)
  })
}

/** A prepared statement is missing or already exists, because a pooler has switched to another connection. */
const otherConnection = /^(?:26000|42P05)$/

/** Adds the likely cause to the error message: a pooler in transaction mode. The server does not mention it. */
export function explainPooler(client: PooledClient): void {
  client.connection.on('errorMessage', (error) => {
    if (!otherConnection.test(error.code ?? '')) return
    error.message += `. A pooler in transaction mode is the likely cause. ${withoutPooler}`
  })
}

export const withoutPooler = 'Set ERRAND_DATABASE_URL to a direct connection or a pooler in session mode.'

/** Returns the original error if `error` only reports that an earlier statement failed. */
export function failureBehind(client: PgClient, error: unknown): unknown {
  const isAfter = codeOf(error) === afterFailure
  return (isAfter && failures.get(client)) || error
}

/**
 * Combines all queries that a connection receives in one tick into a single write. Separate writes took a third of an
 * admission's CPU time.
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

export type PgListener = {
  connect(): Promise<unknown>
  query(query: string, values?: readonly unknown[]): Promise<PgResult>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown
  ref(): void
  unref(): void
  end(): Promise<void>
}

type ClientConfig = {
  connectionString: string
  connectionTimeoutMillis: number
  /** Closes the connection after this many milliseconds without an answer. */
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
  // Set globally for Drizzle, which uses the driver's own parsers and converts the integers of its columns itself.
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
