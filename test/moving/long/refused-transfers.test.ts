import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { openAccount } from '../../runner/process-client.ts'
import { describePostgres } from '../../store/postgres-engine.ts'
import { withPool, type PostgresServer } from '../../support/postgres-server.ts'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { newDataDir, startService } from '../../support/test-service.ts'
import { linesOf, refusal, usersIn, withChecksum } from '../transfer-runs.ts'

const incomplete = '1 errand: The export is incomplete or was changed. Create a new export and import it.\n'
const otherVersion = '1 errand: Another version of Errand wrote this export. Import it with that version.\n'

/** Creates a data directory with one user, and exports it. */
async function newExport(): Promise<{ dataDir: string; file: string; lines: string[] }> {
  const dataDir = newDataDir()
  await openAccount(dataDir)
  const file = join(dataDir, 'export.ndjson')
  await runErrand(['export', file, '--data', dataDir])
  return { dataDir, file, lines: linesOf(file) }
}

/** Changes a value of the table's only row. */
function changed(lines: readonly string[], table: string, change: (row: any[], columns: string[]) => void): string[] {
  const start = lines.findIndex((line) => line.startsWith(`{"table":"${table}"`))
  const row = JSON.parse(lines[start + 1]!) as unknown[]
  change(row, JSON.parse(lines[start]!).columns)
  return lines.with(start + 1, `${JSON.stringify(row)}\n`)
}

await describePostgres('rejected exports and imports', (server: PostgresServer) => {
  test('no command opens an exported installation until the export is undone', async () => {
    const { dataDir, file } = await newExport()
    const exported =
      /^1 errand: This installation was exported at \S+ and may be running elsewhere\. If it is not, run `errand export --undo`/
    for (const command of [
      ['users', 'list'],
      ['users', 'credit', '--user', 'person@example.com', '--amount-usd', '1'],
      ['serve', '--port', '0', '--config', join('test', 'support', 'test-agents.ts')],
      ['export'],
    ]) {
      expect(await refusal([...command, '--data', dataDir])).toMatch(exported)
    }
    const env = { ERRAND_DATABASE_URL: await server.newDatabase({ isEmpty: true }) }
    await runErrand(['import', file], env)
    await runErrand(['export', `${file}.2`], env)
    for (const command of [['users', 'list'], ['serve', '--port', '0'], ['export']]) {
      const args = [...command, ...(command[0] === 'serve' ? ['--config', 'test/support/test-agents.ts'] : [])]
      expect(await refusal(args, { ...env, ERRAND_SECRET: 'a secret of the tests only' })).toMatch(exported)
    }
    await runErrand(['export', '--undo'], env)
    expect(await runErrand(['users', 'list'], env)).toContain('person@example.com')
    await runErrand(['export', '--undo', '--data', dataDir])
    expect(await runErrand(['users', 'list', '--data', dataDir])).toContain('person@example.com')
    expect(await refusal(['export', file, '--data', dataDir])).toBe(
      `1 errand: ${file} already exists. Choose a new file for the export.\n`,
    )
    expect(await runErrand(['users', 'list', '--data', dataDir])).toContain('person@example.com')
    rmSync(dataDir, { recursive: true })
  }, 120_000)

  test('importing a truncated, altered or incompatible export leaves no data in either engine', async () => {
    const { dataDir, lines } = await newExport()
    const [header = '', ...rows] = lines
    const end = lines.at(-1)!
    const balanceOf = (row: any[], columns: string[]) => (row[columns.indexOf('balance')] += 1)
    const renamed = changed(lines, 'users', (row, columns) => (row[columns.indexOf('email')] = 'other@example.com'))
    const without = (table: string) => lines.filter((line) => !line.startsWith(`{"table":"${table}"`))
    const cases: [what: string, content: string, said: string | RegExp][] = [
      ['nothing', '', '1 errand: The input is not an Errand export. Create one with `errand export`.\n'],
      ['other JSON', '{"a":1}\n', '1 errand: The input is not an Errand export. Create one with `errand export`.\n'],
      ['no JSON', 'PK\u0003\u0004\n', incomplete],
      ['the header only', header, incomplete],
      ['without the end', lines.slice(0, -1).join(''), incomplete],
      ['cut in a row', lines.join('').slice(0, 3000), incomplete],
      ['cut in the end', lines.join('').slice(0, -10), incomplete],
      ['a changed row', renamed.join(''), incomplete],
      [
        'a removed row',
        lines
          .toSpliced(
            lines.findLastIndex((line) => line.startsWith('[')),
            1,
          )
          .join(''),
        incomplete,
      ],
      [
        'a removed parent',
        [header, ...rows.toSpliced(1, 1)].join(''),
        /^1 errand: The database rejected rows for the table "accounts" \(.*foreign key.*\)\. Create a new export and import it\.\n$/i,
      ],
      ['a line after the end', [...lines, end].join(''), incomplete],
      ['a later format', lines.join('').replace('"version":1', '"version":2'), otherVersion],
      ['another schema', lines.join('').replace(/"schema":"\w+"/, '"schema":"later"'), otherVersion],
      ['an unknown table', lines.join('').replace('{"table":"accounts"', '{"table":"more"'), otherVersion],
      [
        'an unknown column',
        withChecksum(lines).join('').replace('"columns":["seq",', '"columns":["more",'),
        otherVersion,
      ],
      ['a missing table', withChecksum(without('topups')).join(''), otherVersion],
      ['a missing last table', withChecksum(without('payment_accounts')).join(''), incomplete],
      [
        'a wrong balance',
        withChecksum(changed(lines, 'accounts', balanceOf)).join(''),
        /^1 errand: The ledger has \d differences\. The first failed check is ".*"\. Run `errand ledger verify`\.\n$/,
      ],
    ]
    const target = newDataDir()
    const env = { ERRAND_DATABASE_URL: await server.newDatabase() }
    const file = join(dataDir, 'bad.ndjson')
    for (const [what, content, said] of cases) {
      writeFileSync(file, content)
      for (const [where, by] of [
        [['--data', target], {}],
        [[], env],
      ] as const) {
        const found = await refusal(['import', file, ...where], by)
        expect(`${what}: ${found}`).toMatch(
          typeof said === 'string' ? `${what}: ${said}` : new RegExp(`^${what}: ${said.source.slice(1)}`, said.flags),
        )
      }
    }
    expect(await usersIn(['--data', target])).toEqual([])
    expect(await usersIn([], env)).toEqual([])
    writeFileSync(file, lines.join(''))
    await runErrand(['import', file, '--data', target])
    await runErrand(['import', file], env)
    for (const [where, by] of [
      [['--data', target], {}],
      [[], env],
    ] as const) {
      expect(await refusal(['import', file, ...where], by)).toBe(
        '1 errand: The database already has data in the table "users". Choose an empty database.\n',
      )
    }
    for (const folder of [dataDir, target]) rmSync(folder, { recursive: true })
  }, 240_000)

  test('rejects a database that is in use, missing or has a wrong ledger, and changes nothing', async () => {
    const { dataDir, file } = await newExport()
    const own = newDataDir()
    await openAccount(own)
    const out = join(own, 'export.ndjson')
    const service = await startProcess({ dataDir: own })
    for (const args of [
      ['export', out],
      ['import', file],
    ]) {
      expect(await refusal([...args, '--data', own])).toMatch(
        /^1 errand: Another Errand server is using the data directory .*\n$/,
      )
    }
    await service.end('SIGTERM')
    const database = new Database(join(own, 'errand.db'))
    database.exec('UPDATE accounts SET balance = balance + 1')
    database.close()
    expect(await refusal(['export', out, '--data', own])).toMatch(/^1 errand: The ledger has \d+ differences\. .*\n$/)
    expect(existsSync(out)).toBe(false)
    expect(await runErrand(['users', 'list', '--data', own])).toContain('person@example.com')

    const databaseUrl = await server.newDatabase()
    const env = { ERRAND_DATABASE_URL: databaseUrl }
    const node = await startService({ databaseUrl })
    for (const args of [
      ['export', out],
      ['import', file],
    ]) {
      expect(await refusal(args, env)).toMatch(
        /^1 errand: Errand is using the database\. These connections are open: .* Stop every node and command, then try again\.\n$/,
      )
    }
    await node.stop()
    const empty = await server.newDatabase({ isEmpty: true })
    await withPool(empty, (pool) => pool.query('CREATE TABLE accounts (n int)'))
    expect(await refusal(['import', file], { ERRAND_DATABASE_URL: empty })).toMatch(/^1 errand: .*accounts.*\n$/)
    const url = new URL(empty)
    url.password = 'hunter22'
    url.pathname = '/nowhere'
    for (const args of [
      ['export', out],
      ['import', file],
    ]) {
      const said = await refusal(args, { ERRAND_DATABASE_URL: url.href })
      expect(said).toMatch(/^1 errand: Could not reach the database \(.*\)\. Check ERRAND_DATABASE_URL\.\n$/)
      expect(said).not.toContain('hunter22')
    }
    expect(await refusal(['export', '--data', join(own, 'none')])).toMatch(
      /^1 errand: .* does not have an Errand database\. Choose .*\n$/,
    )
    expect(existsSync(join(own, 'none'))).toBe(false)
    for (const folder of [dataDir, own]) rmSync(folder, { recursive: true })
  }, 120_000)

  test('names missing or damaged payloads, and omits them only on request', async () => {
    const dataDir = newDataDir()
    const service = await startService({ dataDir })
    const { key } = await service.createPerson()
    const ids: string[] = []
    for (let n = 0; n < 3; n++) {
      const { requestUri } = await service.runTask(key, 'test.value', { value: n, text: 'x'.repeat(20_000) })
      ids.push(/pay_\w+/.exec(requestUri)![0])
    }
    await service.stop()
    const fileOf = (id: string) => join(dataDir, 'payloads', id.slice(-2), `${id}.json`)
    rmSync(fileOf(ids[0]!))
    writeFileSync(fileOf(ids[1]!), readFileSync(fileOf(ids[1]!), 'utf8').replace('x', 'y'))
    const file = join(dataDir, 'export.ndjson')
    const args = ['export', file, '--data', dataDir]
    const [missing, damaged] = ids.slice(0, 2).sort()
    expect(await refusal(args)).toBe(
      `1 errand: 2 payloads are missing or damaged: ${missing}, ${damaged}. If they are in a bucket, set its ERRAND_PAYLOADS_S3_ variables. Otherwise restore them from a backup, or skip them with --without-damaged.\n`,
    )
    expect(existsSync(file)).toBe(false)

    // Nodes start even if no payloads are left, and never serve payloads that were not written.
    rmSync(fileOf(ids[2]!))
    await runErrand([...args, '--without-damaged'])
    const databaseUrl = await server.newDatabase({ isEmpty: true })
    await runErrand(['import', file], { ERRAND_DATABASE_URL: databaseUrl })
    const node = await startService({ databaseUrl })
    const { tasks } = (await node.get('/api/tasks', key)).body
    for (const { id } of tasks) {
      const { requestUri } = (await node.get(`/api/tasks/${id}`, key)).body
      expect([404, 500]).toContain((await fetch(requestUri)).status)
    }
    expect(tasks).toHaveLength(3)
    await node.stop()
    rmSync(dataDir, { recursive: true })
  }, 60_000)

  test('all nodes must use the exported secret, and commands that do not need the secret work without it', async () => {
    const dataDir = newDataDir()
    const first = 'the-first-secret-of-all'
    writeFileSync(join(dataDir, 'secret'), `${first}\n`, { mode: 0o600 })
    const service = await startProcess({ dataDir })
    await service.end('SIGTERM')
    await openAccount(dataDir)
    const file = join(dataDir, 'export.ndjson')
    await runErrand(['export', file, '--data', dataDir])
    const env = { ERRAND_DATABASE_URL: await server.newDatabase({ isEmpty: true }) }
    await runErrand(['import', file], env)
    expect(await runErrand(['users', 'list'], env)).toContain('person@example.com')
    expect(await refusal(['secret', 'rotate'], env)).toMatch(
      /^1 errand: ERRAND_SECRET: must be set if ERRAND_DATABASE_URL is set/,
    )
    const next = { ...env, ERRAND_SECRET: 'the-secret-after-the-move' }
    const isNot = /^1 errand: ERRAND_SECRET: must have the same value as on the other nodes of this database\.\n$/
    expect(await refusal(['secret', 'rotate'], next)).toMatch(isNot)
    await runErrand(['secret', 'rotate'], { ...next, ERRAND_SECRET_PREVIOUS: first })
    await runErrand(['secret', 'rotate'], next)
    expect(await refusal(['secret', 'rotate'], { ...env, ERRAND_SECRET: first })).toMatch(isNot)
    expect(await refusal(['backup', join(dataDir, 'copy')], env)).toMatch(/pg_dump/)
    rmSync(dataDir, { recursive: true })
  }, 120_000)
})
