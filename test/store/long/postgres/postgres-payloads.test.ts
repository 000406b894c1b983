import { expect, test } from 'vitest'
import { SystemClock } from '../../../../server/kernel/clock.ts'
import { newId } from '../../../../server/kernel/ids.ts'
import { PostgresPayloadStore } from '../../../../server/store/postgres/payload-parts.ts'
import { expectLargeTask } from '../../../payloads/large-requests.ts'
import { LinkRelay } from '../../../payloads/link-relay.ts'
import { testFarPayloads, testPayloadStore, type PayloadPlace } from '../../../payloads/payload-contract.ts'
import { storedPayloads } from '../../../support/stored-payloads.ts'
import { withPool, type PostgresServer } from '../../../support/postgres-server.ts'
import { startService } from '../../../support/test-service.ts'
import { describePostgres } from '../../postgres-engine.ts'

await describePostgres('payloads', (server) => {
  testPayloadStore(payloadEngine(server))
  testFarPayloads(payloadEngine(server))
  describeOwn(server)
})

type Query = (text: string, values?: unknown[]) => Promise<{ rows: unknown[] }>
type Place = PayloadPlace & { query: Query }

function payloadEngine(server: PostgresServer, silentMs?: number): { name: string; open(): Promise<Place> } {
  return {
    name: 'PostgreSQL',
    open: async () => {
      const url = await server.newDatabase()
      const relay = await LinkRelay.to(Number(new URL(url).port))
      const through = new URL(url)
      through.port = String(relay.port)
      const store = new PostgresPayloadStore(through.href, new SystemClock(), silentMs)
      const other = new PostgresPayloadStore(url, new SystemClock())
      const query: Query = (text, values = []) => withPool(url, (pool) => pool.query(text, values))
      return {
        store,
        other,
        relay,
        query,
        stored: async () => {
          const { rows } = await query('SELECT DISTINCT payload_id AS id FROM payload_parts')
          return (rows as { id: string }[]).map(({ id }) => id)
        },
        change: async (id, change) => {
          const { rows } = await query('SELECT part::int AS part, content FROM payload_parts WHERE payload_id = $1', [
            id,
          ])
          const parts = (rows as { part: number; content: Buffer }[]).toSorted((a, b) => a.part - b.part)
          const changed = change(Buffer.concat(parts.map(({ content }) => content)))
          await query('DELETE FROM payload_parts WHERE payload_id = $1', [id])
          for (let part = 0; part * 1_048_576 < changed.length; part++) {
            const content = changed.subarray(part * 1_048_576, (part + 1) * 1_048_576)
            await query('INSERT INTO payload_parts VALUES ($1, $2, $3, 0)', [id, part, content])
          }
        },
        remove: async (id) => void (await query('DELETE FROM payload_parts WHERE payload_id = $1', [id])),
        cut: async () => relay.cut(),
        heal: async () => relay.heal(),
        close: async () => {
          await store.close()
          await other.close()
          await relay.close()
          await server.dropDatabase(url)
        },
      }
    },
  }
}

function describeOwn(server: PostgresServer): void {
  test('PostgreSQL: stores a large request and a large response in the database', async () => {
    const service = await startService()
    const { ids } = await expectLargeTask(service)
    expect(await storedPayloads(service.dataDir).ids()).toEqual(expect.arrayContaining(ids))
    await service.stop()
  })

  test('PostgreSQL: small content takes one round trip each to write and to read', async () => {
    const place = await payloadEngine(server).open()
    const { relay, store } = place
    const write = async () => await store.write('x'.repeat(20_000))
    // The first write opens the connection and prepares the statements.
    const { digest, id } = await write()
    await store.read(id, digest)
    let before = relay!.roundTrips
    await write()
    expect(relay!.roundTrips - before).toBe(1)
    before = relay!.roundTrips
    await store.read(id, digest)
    expect(relay!.roundTrips - before).toBe(1)
    await place.close()
  })

  test('PostgreSQL: retries reads and writes if the server goes silent', async () => {
    const place = await payloadEngine(server, 2000).open()
    const { relay, store } = place
    const { digest, id } = await store.write('x'.repeat(20_000))
    relay!.silence()
    expect(await store.read(id, digest)).toHaveLength(20_000)
    relay!.silence()
    const large = await store.write('x'.repeat(3_000_000))
    expect(await place.other.read(large.id, large.digest)).toHaveLength(3_000_000)
    await place.close()
  })

  test('PostgreSQL: removes old unreferenced payloads and checks the others only once', async () => {
    const place = await payloadEngine(server).open()
    const { query, store } = place
    const ids = Array.from({ length: 1200 }, () => newId('pay', Date.now()))
    // Many parts have the same millisecond, because a page may end in the middle of them.
    await query(
      `INSERT INTO payload_parts SELECT id, 0, '\\x7b7d', now_ms - CASE WHEN n <= 900 THEN 7200000 + n / 700 ELSE 60000 END
       FROM unnest($1::text[]) WITH ORDINALITY AS given(id, n), floor(extract(epoch FROM clock_timestamp()) * 1000) AS now_ms`,
      [ids],
    )
    const asked: string[] = []
    const named = new Set(ids.filter((_, n) => n % 2 === 0))
    const hasRow = async (id: string) => {
      asked.push(id)
      return named.has(id)
    }
    expect(await store.collectOrphans(3_600_000, hasRow)).toBe(450)
    expect(asked.toSorted()).toEqual(ids.slice(0, 900).toSorted())
    asked.length = 0
    expect(await store.collectOrphans(3_600_000, hasRow)).toBe(0)
    expect(asked).toEqual([])
    expect(new Set(await place.stored())).toEqual(
      new Set([...ids.slice(900), ...ids.slice(0, 900).filter((id) => named.has(id))]),
    )
    await place.close()
  })
}
