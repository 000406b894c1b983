import { createRequire } from 'node:module'
import { workerData, type MessagePort } from 'node:worker_threads'
import { openPool } from '../../server/store/postgres/connection/database.ts'
import type { PgClient, PgPool } from '../../server/store/postgres/connection/driver.ts'
import { isLostConnection } from '../../server/store/postgres/connection/pg-errors.ts'
import { verifyLedger } from '../../server/store/postgres/verify-ledger.ts'
import type { RowsReply, RowsRequest } from './postgres-rows.ts'

// Queries a PostgreSQL server on behalf of a thread that blocks until the response arrives.

const { port, signal, url } = workerData as { port: MessagePort; signal: Int32Array; url: string }
const { types } = createRequire(import.meta.url)('pg') as {
  types: { setTypeParser: (type: number, parse: (text: string) => unknown) => void }
}
const bigintType = 20
types.setTypeParser(bigintType, Number)

let pool: PgPool = openPool(url, 1)
const names = new Map<string, string>()
const triesMax = 40

async function answer(client: PgClient, request: Exclude<RowsRequest, { close: true }>): Promise<RowsReply> {
  if ('verify' in request) return { report: await verifyLedger(client) }
  const ask = ({ text, values }: { text: string; values: unknown[] }) => {
    let name = names.get(text)
    if (name === undefined) names.set(text, (name = `rows_${names.size}`))
    return client.query({ name, text, values })
  }
  // Sends all queries before the first response arrives.
  const begun = client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const results = await Promise.all([begun, ...request.queries.map(ask), client.query('COMMIT')])
  return { rows: results.slice(1, -1).map(({ rows }) => rows) }
}

/** Queries the server. Retries, because it may have restarted since the last query or may be restarting. */
async function ask(request: Exclude<RowsRequest, { close: true }>): Promise<RowsReply> {
  for (let tries = 1; ; tries++) {
    let client: PgClient | undefined
    try {
      client = await pool.connect()
      const reply = await answer(client, request)
      client.release()
      return reply
    } catch (error) {
      client?.release(true)
      const isAway = isLostConnection(error) || !client
      if (!isAway || tries === triesMax) return { error: error instanceof Error ? (error.stack ?? '') : String(error) }
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
}

port.on('message', (request: RowsRequest) => {
  const answered = 'close' in request ? pool.end().then((): RowsReply => ({ rows: [] })) : ask(request)
  void answered.then((reply) => {
    port.postMessage(reply)
    Atomics.add(signal, 0, 1)
    Atomics.notify(signal, 0)
    if ('close' in request) port.close()
  })
})
