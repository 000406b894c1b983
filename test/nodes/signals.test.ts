import { expect, test } from 'vitest'
import { openPool } from '../../server/store/postgres/connection/database.ts'
import type { PgPool } from '../../server/store/postgres/connection/driver.ts'
import { PgSignals, type PgSignalsOptions } from '../../server/store/postgres/nodes/signals.ts'
import { engine } from '../support/test-engine.ts'
import { soon } from '../runner/task-checks.ts'

const quick = { probeMs: 200, pollMs: 50 }

type Part = { signals: PgSignals; pool: PgPool; gaps: () => number; warnings: string[]; close: () => Promise<void> }

async function databaseUrl(): Promise<string> {
  return (await engine().databaseUrl(`signals-${crypto.randomUUID()}`))!
}

function open(url: string, options: Partial<PgSignalsOptions> = {}): Part {
  const pool = openPool(url, 2)
  const warnings: string[] = []
  const onWarning = (message: string) => void warnings.push(message)
  const signals = new PgSignals({ databaseUrl: url, pool, onWarning, ...quick, ...options })
  let gaps = 0
  signals.onGap(() => gaps++)
  const close = async () => {
    await signals.close()
    await pool.end()
  }
  return { signals, pool, gaps: () => gaps, warnings, close }
}

/** Resolves once messages arrive, after which no gaps are reported. */
async function untilLive({ gaps }: Part): Promise<void> {
  await expect
    .poll(async () => {
      const before = gaps()
      await new Promise((resolve) => setTimeout(resolve, quick.pollMs * 3))
      return before > 0 && gaps() === before
    }, soon)
    .toBe(true)
}

function endListeners(pool: PgPool): Promise<unknown> {
  return pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'errand signals'`,
  )
}

test('any number of messages reach the listeners of their topic on every node, the sender included', async () => {
  const url = await databaseUrl()
  const [first, second] = [open(url), open(url)]
  await Promise.all([untilLive(first), untilLive(second)])
  const heard = [first, second].map(({ signals }) => {
    const ids = { ended: new Set<string>(), stopped: new Set<string>(), queued: 0 }
    signals.on('task-ended', (id) => ids.ended.add(id))
    signals.on('session-stopped', (id) => ids.stopped.add(id))
    signals.on('task-queued', () => ids.queued++)
    return ids
  })
  const ids = Array.from({ length: 3000 }, (_, n) => `task_${String(n).padStart(26, '0')}`)
  for (const id of ids) first.signals.send('task-ended', id)
  second.signals.send('session-stopped', 'ses_1')
  for (let n = 0; n < 100; n++) second.signals.send('task-queued', '')
  for (const { ended, stopped } of heard) {
    await expect.poll(() => [ended.size, stopped.size], soon).toEqual([3000, 1])
    expect([...ended].toSorted()).toEqual(ids)
  }
  // Simultaneous signals are merged into one.
  expect(heard.map(({ queued }) => queued)).toEqual([1, 1])
  const off = first.signals.on('session-stopped', () => expect.unreachable())
  off()
  second.signals.send('session-stopped', 'ses_2')
  await expect.poll(() => heard[0]!.stopped.has('ses_2'), soon).toBe(true)
  expect([...first.warnings, ...second.warnings]).toEqual([])
  await Promise.all([first.close(), second.close()])
})

test('after a lost connection, reconnects, triggers a re-read and delivers pending messages', async () => {
  const part = open(await databaseUrl())
  await untilLive(part)
  const heard: string[] = []
  part.signals.on('task-ended', (id) => heard.push(id))
  for (let round = 0; round < 3; round++) {
    const before = part.gaps()
    await endListeners(part.pool)
    await expect.poll(part.gaps, soon).toBeGreaterThan(before)
    part.signals.send('task-ended', `task_${round}`)
    await expect.poll(() => heard, soon).toContain(`task_${round}`)
    await untilLive(part)
  }
  await part.close()
})

test('without a database nothing throws, listeners keep re-reading, and one warning is logged', async () => {
  const url = new URL(await databaseUrl())
  url.port = '1'
  const part = open(url.href)
  for (let n = 0; n < 20_000; n++) part.signals.send('task-ended', `task_${n}`)
  await expect.poll(part.gaps, soon).toBeGreaterThan(5)
  await expect.poll(() => part.warnings, soon).toEqual([expect.stringMatching(/cannot send each other notifications/)])
  await part.close()
  part.signals.send('task-ended', 'task_after')
})

test('detects a LISTEN that receives nothing, as behind a pooler, with one warning and regular re-reads', async () => {
  // Probes go to a database other than the listener's.
  const [own, other] = [await databaseUrl(), await databaseUrl()]
  const part = open(own, { databaseUrl: other, probeMsMax: 50 })
  await expect.poll(() => part.warnings.length, soon).toBe(1)
  const before = part.gaps()
  await expect.poll(part.gaps, soon).toBeGreaterThan(before + 20)
  expect(part.warnings).toEqual([expect.stringMatching(/pooler in transaction mode.*ERRAND_DATABASE_URL/)])
  await part.close()
})

test('sends the last messages before closing, and connects only if needed', async () => {
  const url = await databaseUrl()
  const [teller, hearer, silent] = [open(url), open(url), openPool(url, 1)]
  const unused = new PgSignals({ databaseUrl: url, pool: silent })
  await Promise.all([untilLive(teller), untilLive(hearer)])
  const heard: string[] = []
  hearer.signals.on('task-ended', (id) => heard.push(id))
  const { rows } = await silent.query(
    `SELECT count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'errand signals'`,
  )
  expect(rows).toEqual([{ count: 2 }])
  teller.signals.send('task-ended', 'task_last')
  await teller.close()
  await expect.poll(() => heard, soon).toEqual(['task_last'])
  await unused.close()
  await silent.end()
  await hearer.close()
})
