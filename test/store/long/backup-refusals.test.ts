import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { demandPart } from '../../support/test-parts.ts'
import { runErrand } from '../../support/test-process.ts'
import { startService } from '../../support/test-service.ts'
import { newFolder } from '../sqlite-engine.ts'

const payloadChars = 300_000

let folder: string
let dataDir: string

beforeAll(async () => {
  folder = newFolder()
  dataDir = join(folder, 'data')
  mkdirSync(dataDir)
  const service = await startService({ dataDir, limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson()
  for (let n = 0; n < 4; n++) await service.runTask(key, 'test.large', { chars: payloadChars })
  await service.stop()
})

afterAll(() => rmSync(folder, { recursive: true }))

async function refusalOf(file: string, from = dataDir): Promise<string> {
  const refusal = await runErrand(['backup', file, '--data', from]).then(
    () => ({ code: 0, stderr: 'it was made' }),
    (error: { code: number; stderr: string }) => error,
  )
  return `${refusal.code} ${refusal.stderr}`
}

test('rejects a backup over an existing file or payload folder without leaving files behind', async () => {
  for (const taken of ['backup.db', 'backup.db.payloads']) {
    const into = join(folder, `beside-${taken}`)
    mkdirSync(into)
    writeFileSync(join(into, taken), 'precious')
    expect(await refusalOf(join(into, 'backup.db'))).toBe(
      `1 errand: ${join(into, taken)} already exists. Choose another name for the backup.\n`,
    )
    expect(readdirSync(into)).toEqual([taken])
    expect(readFileSync(join(into, taken), 'utf8')).toBe('precious')
  }
})

test('rejects a backup into a missing folder or from a folder without a database', async () => {
  const missing = join(folder, 'missing')
  expect(await refusalOf(join(missing, 'backup.db'))).toBe(
    `1 errand: The folder ${missing} for the backup does not exist. Create it first.\n`,
  )
  expect(await refusalOf(join(folder, 'backup.db'), missing)).toBe(
    `1 errand: ${missing} does not have an Errand database. Choose another folder with --data or ERRAND_DATA_DIR.\n`,
  )
  expect(readdirSync(folder).filter((name) => name.startsWith('backup') || name === 'missing')).toEqual([])
})

test.for([
  ['the database', 128],
  ['the payloads', 900],
] as const)('reports a disk that has no space for %s and removes the incomplete backup', async ([, kb], context) => {
  const disk = join(folder, `disk-${kb}`)
  mkdirSync(disk)
  const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${kb}k`, 'errand-backup', disk])
  if (mount.status !== 0) demandPart(context, 'mount', `mounting a small tmpfs: ${String(mount.stderr).trim()}`)
  try {
    const refusal = await refusalOf(join(disk, 'backup.db'))
    expect(refusal).toBe(
      `1 errand: There is not enough disk space for the backup in ${disk}. Free up space or choose another folder.\n`,
    )
    expect(readdirSync(disk)).toEqual([])
  } finally {
    spawnSync('umount', ['-l', disk])
  }
})

test('lists missing or damaged payloads, exits with 1 and backs up everything else', async () => {
  const hurt = join(folder, 'hurt')
  cpSync(dataDir, hurt, { recursive: true })
  const files = globSync(join(hurt, 'payloads/*/*.json')).sort()
  const [missing, flipped] = files as [string, string]
  rmSync(missing)
  const bytes = readFileSync(flipped)
  bytes[1000]! ^= 1
  writeFileSync(flipped, bytes)
  const ids = [missing, flipped].map((file) => basename(file, '.json')).sort()
  const file = join(folder, 'of-hurt.db')
  const refusal = await refusalOf(file, hurt)
  expect(refusal.split('\n').at(-2)).toBe(
    `errand: Some payloads are missing or damaged and are not in the backup: ${ids.join(', ')}. Restore them from an earlier backup.`,
  )
  expect(refusal).toMatch(/^1 /)
  const copied = globSync(`${file}.payloads/*/*.json`).map((path) => basename(path))
  expect(copied).toHaveLength(files.length - 2)
  expect(copied.some((name) => ids.includes(basename(name, '.json')))).toBe(false)
  rmSync(file)
  rmSync(`${file}.payloads`, { recursive: true })
})

test('backs up exactly the payloads that tasks reference, unchanged', async () => {
  mkdirSync(join(dataDir, 'payloads/zz'), { recursive: true })
  const orphan = join(dataDir, 'payloads/zz/pay_00000000000000000000000zzz.json')
  writeFileSync(orphan, '{}')
  const file = join(folder, 'whole.db')
  const printed = await runErrand(['backup', file, '--data', dataDir, '--json'])
  rmSync(orphan)
  expect(JSON.parse(printed)).toEqual({ file, payloads: `${file}.payloads` })
  const named = globSync('payloads/*/pay_*.json', { cwd: dataDir }).sort()
  expect(globSync('*/*', { cwd: `${file}.payloads` }).sort()).toEqual(
    named.map((name) => name.slice('payloads/'.length)),
  )
  expect(named).toHaveLength(4)
  for (const name of named) {
    const copy = readFileSync(join(`${file}.payloads`, name.slice('payloads/'.length)))
    expect(copy.equals(readFileSync(join(dataDir, name)))).toBe(true)
  }
})
