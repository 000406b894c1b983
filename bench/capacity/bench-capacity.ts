import { rmSync, statSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { formatValue, type Row } from '../bench-table.ts'
import { measureBackup, measureStart, measureUserLists, measureVerify } from './measure-folder.ts'
import { measureSweep } from './measure-sweep.ts'
import { yearOldFolder, type YearOldFolder } from './year-old-folder.ts'

const groups: Record<string, (folder: YearOldFolder) => Promise<Row[]>> = {
  start: measureStart,
  lists: measureUserLists,
  verify: measureVerify,
  backup: measureBackup,
  sweep: measureSweep,
}

/** Measures the service on SQLite with `count` tasks. Ten million tasks take up 11 GB, and the backup as much again. */
export async function benchCapacity(count: number, only: string | undefined): Promise<Row[]> {
  const names = only?.split(',') ?? Object.keys(groups)
  const unknown = names.find((name) => !groups[name])
  if (unknown !== undefined) throw new Error(`No group is called ${unknown}. Use ${Object.keys(groups).join(', ')}.`)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
  process.stderr.write(`writing ${count.toLocaleString('en')} tasks…\n`)
  const from = performance.now()
  const folder = await yearOldFolder(count)
  const { dataDir } = folder
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  const gb = statSync(join(dataDir, 'errand.db')).size / 1e9
  const rows: Row[] = [
    { what: 'time to write the tasks', value: (performance.now() - from) / 1000, unit: 's' },
    { what: 'size of the database', value: gb, unit: 'GB' },
  ]
  for (const name of names) {
    process.stderr.write(`${name}…\n`)
    const measured = await groups[name]!(folder)
    for (const { unit, value, what } of measured) process.stderr.write(`  ${what}: ${formatValue(value, unit)}\n`)
    rows.push(...measured)
  }
  return rows
}
