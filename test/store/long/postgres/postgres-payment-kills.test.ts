import { expect, test } from 'vitest'
import { openPostgresStore } from '../../../../server/store/postgres/postgres-store.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { withPool } from '../../../support/postgres-server.ts'
import { CuttingWire } from '../../cutting-wire.ts'
import { killAtEach } from '../../payment-kills.ts'
import { describePostgres } from '../../postgres-engine.ts'
import { eventRows, noLimits, StoreWorld, type EventRow } from '../../store-world.ts'

/**
 * Interval of the statements to test. With 1, every statement is tested, which takes some minutes, because a store
 * waits before it reconnects after a lost connection.
 */
const stride = Number(process.env['ERRAND_PAYMENT_KILLS'] ?? 12)

await describePostgres('payments with failing statements', ({ dropDatabase, newDatabase }) => {
  test(
    'PostgreSQL: payment events are applied once and completely, whichever statement is interrupted',
    async () => {
      const url = new URL(await newDatabase())
      const wire = new CuttingWire(Number(url.port))
      const through = new URL(url)
      through.port = String(await wire.listen())
      const store = await openPostgresStore({ databaseUrl: through.href, limits: noLimits, connectionsMax: 2 })
      const opened = {
        store,
        reopen: () => Promise.reject(new Error('it stays open')),
        close: () => store.close(),
        tamper: () => Promise.reject(new Error('nothing is tampered with')),
        events: (userId: string) =>
          withPool(url.href, async (pool) => {
            const { rows } = await pool.query(eventRows.replace('$userId', '$1'), [userId])
            return rows as EventRow[]
          }),
        queued: () => Promise.resolve([]),
        damage: () => Promise.reject(new Error('nothing is damaged')),
        verify: () => store.verifyLedger(),
      }
      const world = new StoreWorld({ clock: new FakeClock(), opened, notBefore: () => 0 })
      const strikeAt = (n: number) => {
        wire.hasCut = false
        wire.left = n
      }
      const statements = await killAtEach(world, { strikeAt, hasStruck: () => wire.hasCut, stride })
      wire.left = 0
      expect(statements).toBeGreaterThan(80)
      await world.close()
      await wire.close()
      await dropDatabase(url.href)
    },
    1_200_000 / stride + 180_000,
  )
})
