import { cpSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { BenchProcess } from '../bench-process.ts'
import { atMost, type Row } from '../bench-table.ts'
import { drive } from '../http-driver.ts'
import { untilIdle } from '../measure-lists.ts'
import { median, medianRatio, quartiles, takeTurns } from '../paired-rates.ts'
import { taskRequests } from '../postgres-side.ts'
import { runErrand, serve } from './measure-folder.ts'
import { dayMs, type YearOldFolder } from './year-old-folder.ts'

const rounds = 10
const perRound = 1500
const connections = 16
const pauseMs = 100
const settleMs = 500
/** The shortest retention, so that all but the last week's tasks are pruned. */
const days = 7
const content =
  "length(request) + length(coalesce(response, '')) + length(coalesce(error_message, '')) + length(coalesce(error_details, ''))"

/**
 * Compares submissions to a service that prunes old tasks with submissions to one that does not. Both use a copy of
 * the data directory, and each is stopped while the other one is measured.
 */
export async function measureSweep({ dataDir, users }: YearOldFolder): Promise<Row[]> {
  const copies = mkdtempSync(join(tmpdir(), 'errand-bench-sweep-'))
  const folders = { still: join(copies, 'still'), sweeping: join(copies, 'sweeping') }
  for (const folder of Object.values(folders)) cpSync(dataDir, folder, { recursive: true })
  const until = Date.now() - days * dayMs
  const old = read(
    folders.still,
    `SELECT count(*) AS tasks, sum(${content}) AS bytes FROM tasks WHERE completed_at <= ${until}`,
  )
  const ledger = (folder: string) =>
    JSON.stringify(
      read(
        folder,
        `SELECT count(*), sum(amount), sum(balance_after), total(seq * amount) FROM transactions
      WHERE seq <= (SELECT max(seq) FROM transactions WHERE created_at <= ${until})`,
      ),
    )
  const ledgerBefore = ledger(folders.sweeping)
  try {
    const still = await serve(folders.still)
    const sweeping = await serve(folders.sweeping, { BENCH_TASKS_DAYS: String(days) })
    const startedAt = performance.now()
    // The ledger is checked after each start, and the sweep starts after a minute.
    while (prunedTasks(folders.sweeping) === 0) await sleep(1000)
    await untilIdle(still)
    const posts = taskRequests(users)
    let sent = 0
    const round = (own: BenchProcess, other: BenchProcess) => async () => {
      process.kill(other.pid, 'SIGSTOP')
      process.kill(own.pid, 'SIGCONT')
      await sleep(settleMs)
      const end = sent + perRound
      const next = () => (sent < end ? posts[sent++ % posts.length] : undefined)
      const { p50Ms, p99Ms, statuses } = await drive({ url: own.url, connections, pauseMs, next })
      if (statuses[200] !== perRound) throw new Error(JSON.stringify(statuses))
      return { p50Ms, p99Ms, pruned: prunedTasks(folders.sweeping) }
    }
    const turns = { still: round(still, sweeping), sweeping: round(sweeping, still) }
    const measured = await takeTurns(turns, rounds)
    process.kill(still.pid, 'SIGCONT')
    await still.stop()
    process.kill(sweeping.pid, 'SIGCONT')
    if (measured.sweeping.at(-1)!.pruned >= old['tasks']!) throw new Error('the sweep ended before the measurement')
    while (prunedTasks(folders.sweeping) < old['tasks']!) await sleep(1000)
    const seconds = (performance.now() - startedAt) / 1000
    await sweeping.stop()
    if (ledger(folders.sweeping) !== ledgerBefore) throw new Error('the sweep has changed the ledger')
    await runErrand(folders.sweeping, ['ledger', 'verify'])
    const { residentMb } = await runErrand(folders.sweeping, ['vacuum'])
    await runErrand(folders.still, ['vacuum'])
    const [before, after] = [folders.still, folders.sweeping].map((folder) => statSync(join(folder, 'errand.db')).size)
    const of = (side: 'still' | 'sweeping', name: 'p50Ms' | 'p99Ms') => measured[side].map((round) => round[name])
    const compared = (name: 'p50Ms' | 'p99Ms', what: string): Row & { ratio: number } => {
      const ratios = of('sweeping', name).map((value, index) => value / of('still', name)[index]!)
      return {
        what: `POST beside a sweep, ${what}`,
        value: median(of('sweeping', name)),
        unit: 'ms',
        against: `no sweep, ${median(of('still', name)).toFixed(2)} ms`,
        ratio: medianRatio(of('sweeping', name), of('still', name)),
        spread: quartiles(ratios),
      }
    }
    const p99 = compared('p99Ms', 'p99')
    const saved = (before! - after!) / old['bytes']!
    return [
      compared('p50Ms', 'p50'),
      { ...p99, bar: '≤ 1.1', isMet: p99.ratio <= 1.1 },
      { what: 'pruned tasks', value: old['tasks']!, unit: 'tasks' },
      { what: 'time until all of them were pruned, since the start', value: seconds, unit: 's' },
      { what: 'pruned content', value: old['bytes']! / 1e6, unit: 'MB' },
      { what: 'size after errand vacuum, without a sweep', value: before! / 1e6, unit: 'MB' },
      { what: 'size after errand vacuum, with a sweep', value: after! / 1e6, unit: 'MB' },
      { what: 'difference, relative to the pruned content', value: saved, unit: '', bar: '≥ 0.9', isMet: saved >= 0.9 },
      atMost({ what: 'errand vacuum, resident memory', value: residentMb, unit: 'MB' }, 300),
    ]
  } finally {
    rmSync(copies, { recursive: true, force: true })
  }
}

function prunedTasks(dataDir: string): number {
  return read(dataDir, `SELECT CAST(value AS integer) AS seq FROM settings WHERE name = 'tasks-pruned-to'`)['seq'] ?? 0
}

function read(dataDir: string, sql: string): Record<string, number> {
  const db = new Database(join(dataDir, 'errand.db'), { readonly: true })
  try {
    return (db.prepare(sql).get() as Record<string, number> | undefined) ?? {}
  } finally {
    db.close()
  }
}
