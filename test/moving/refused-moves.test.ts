import { execFile } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { SecretVault } from '../../server/kernel/secret-vault.ts'
import { besideServer, openAccount } from '../runner/process-client.ts'
import { describePostgres } from '../store/postgres-engine.ts'
import { withPool, type PostgresServer } from '../support/postgres-server.ts'
import { runErrand, startProcess } from '../support/test-process.ts'
import { newDataDir, startService } from '../support/test-service.ts'

type Failure = { code: number; stderr: string }

/** Exit code and output of a command that has to fail. */
async function refusal(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stderr } = await runErrand(args, env).then(
    (stdout): Failure => ({ code: 0, stderr: stdout }),
    (error: Failure) => error,
  )
  return `${code} ${stderr}`
}

/** Row counts of all tables, for comparison. */
function countAll(url: string): Promise<unknown> {
  const count = `SELECT count(*) FROM pg_class WHERE relkind = 'r'`
  return withPool(url, async (pool) => {
    const { rows } = await pool.query(`SELECT to_regclass('users') AS users, (${count})`)
    const has = (rows[0] as { users: string | null }).users !== null
    return [rows, has && (await pool.query('SELECT * FROM users')).rows]
  })
}

async function newInstallation(): Promise<string> {
  const dataDir = newDataDir()
  await openAccount(dataDir)
  return dataDir
}

await describePostgres('moves are refused', (server: PostgresServer) => {
  test('from a directory in use, to a database in use, or to one that is not there; nothing is changed', async () => {
    const dataDir = await newInstallation()
    const move = (url: string) => refusal(['migrate-to', url, '--data', dataDir])
    const empty = await server.newDatabase({ isEmpty: true })
    const untouched = await countAll(empty)
    const service = await startProcess({ dataDir })
    expect(await move(empty)).toMatch(/^1 errand: Another Errand server is running on the data directory .*\n$/)
    await service.end('SIGTERM')
    expect(await countAll(empty)).toEqual(untouched)

    const own = await server.newDatabase()
    const node = await startService({ databaseUrl: own })
    expect(await move(own)).toMatch(/^1 errand: Errand is using the database with \d+ connections.*\n$/)
    await node.createPerson()
    await node.app.stop()
    const before = await countAll(own)
    expect(await move(own)).toBe(
      '1 errand: The database already has data in the table "users". Choose an empty database.\n',
    )
    expect(await countAll(own)).toEqual(before)
    await withPool(empty, (pool) => pool.query('CREATE TABLE accounts (n int)'))
    expect(await move(empty)).toMatch(/^1 errand: The database has a table "accounts" of another program\..*\n$/)

    const url = new URL(own)
    url.password = 'hunter22'
    url.pathname = '/nowhere'
    expect(await move(url.href)).toMatch(/^1 errand: The database cannot be reached: .*\n$/)
    url.port = '1'
    for (const said of [
      await move(url.href),
      await move('postgres://me:hunter22#@127.0.0.1/x'),
      await move('mysql://me:hunter22@127.0.0.1/x'),
      await refusal(['users', 'list'], { ERRAND_DATABASE_URL: url.href }),
      await refusal(['users', 'list'], { ERRAND_DATABASE_URL: 'postgres://me:hunter22%@127.0.0.1/x' }),
    ]) {
      expect(said).toMatch(/^[12] errand: .+\n$/)
      expect(said).not.toContain('hunter22')
    }
    expect(await refusal(['migrate-to', '--data', dataDir])).toMatch(/^2 errand: URL: is required/)
    expect(await refusal(['migrate-to', own, '--data', join(dataDir, 'none')])).toMatch(
      /^1 errand: .* has no Errand database\.\n$/,
    )
    expect(existsSync(join(dataDir, 'none'))).toBe(false)
    await node.stop().catch(() => {})
    rmSync(dataDir, { recursive: true })
  }, 120_000)

  test('what was moved is not opened again, and what it says leads to the installation with its secret', async () => {
    const dataDir = await newInstallation()
    const first = 'the-first-secret-of-all'
    writeFileSync(join(dataDir, 'secret'), `${first}\n`)
    const vault = new SecretVault(() => ({ current: first, previous: [] }))
    const { userId } = await besideServer(dataDir, async (store) => {
      const user = (await store.findUser('person@example.com'))!
      const of = { userId: user.id, connectorId: `con_${'0'.repeat(26)}` }
      const sealed = vault.seal({ token: 'of the connector' }, of)
      const at = {
        name: 'n',
        url: 'https://example.com/',
        server: null,
        authType: 'bearer',
        allowedTools: null,
      } as const
      await store.createConnector({ ...of, ...at, sealed })
      return of
    })
    const url = await server.newDatabase({ isEmpty: true })
    const args = ['migrate-to', url, '--data', dataDir]
    writeFileSync(join(dataDir, 'secret'), `another-secret-that-follows\n${first}\n`)
    expect(await refusal(args)).toMatch(
      /^1 errand: The secrets of 1 connectors and webhooks are encrypted with an earlier secret. /,
    )
    await runErrand(['secret', 'rotate', '--data', dataDir])
    const said = await runErrand(args)
    expect(said).toMatch(/^transactions +1 in /m)
    expect(said).not.toContain('password@')

    const current = readFileSync(join(dataDir, 'secret'), 'utf8').split('\n')[0]!
    expect(said).not.toContain(current)
    const [exporting] = /^ {2}export .*$/m.exec(said)!
    const shell = `${exporting.replace('PASSWORD', 'password')}; echo "$ERRAND_DATABASE_URL $ERRAND_SECRET"`
    const { stdout } = await promisify(execFile)('sh', ['-c', shell])
    expect(stdout).toBe(`${url} ${current}\n`)

    for (const command of [
      ['users', 'list'],
      ['serve', '--port', '0', '--config', join('test', 'support', 'test-agents.ts')],
    ]) {
      expect(await refusal([...command, '--data', dataDir])).toMatch(
        /^1 errand: The installation in .* was moved to 127\.0\.0\.1:\d+\/errand_\w+: set ERRAND_DATABASE_URL\./,
      )
    }
    expect(await refusal(args)).toMatch(/^1 errand: An installation was already moved to this database\./)
    const elsewhere = await server.newDatabase({ isEmpty: true })
    expect(await refusal(['migrate-to', elsewhere, '--data', dataDir])).toMatch(
      /^1 errand: The installation was moved to/,
    )

    // All nodes share the secret; commands that do not need it work without it.
    const env = { ERRAND_DATABASE_URL: url }
    expect(await runErrand(['users', 'list', '--json'], env)).toContain(userId)
    expect(await refusal(['secret', 'rotate'], env)).toMatch(
      /^1 errand: ERRAND_SECRET: is required with ERRAND_DATABASE_URL/,
    )
    const next = { ...env, ERRAND_SECRET: 'the-secret-after-the-move' }
    const isNot = /^1 errand: ERRAND_SECRET: must be the same secret as on the other nodes of this database\.\n$/
    expect(await refusal(['secret', 'rotate'], next)).toMatch(isNot)
    const changing = { ...next, ERRAND_SECRET_PREVIOUS: current }
    const rotated = JSON.parse(await runErrand(['secret', 'rotate', '--json'], changing))
    expect(rotated).toEqual({ reencrypted: 1, unchanged: 0, unreadable: [] })
    expect(JSON.parse(await runErrand(['secret', 'rotate', '--json'], next)).unchanged).toBe(1)
    expect(await refusal(['secret', 'rotate'], { ...env, ERRAND_SECRET: current })).toMatch(isNot)
    expect(await refusal(['backup', join(dataDir, 'copy')], env)).toMatch(/pg_dump/)

    rmSync(join(dataDir, 'moved.json'))
    expect(await runErrand(['users', 'list', '--data', dataDir])).toContain(userId)
    rmSync(dataDir, { recursive: true })
  }, 120_000)

  test('payloads that are missing or damaged are named, and left behind only when that is asked for', async () => {
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
    const url = await server.newDatabase({ isEmpty: true })
    const said = await refusal(['migrate-to', url, '--data', dataDir])
    const [missing, damaged] = ids.slice(0, 2).sort()
    expect(said).toBe(
      `1 errand: 2 payloads are missing or damaged: ${missing}, ${damaged}. If they are in a bucket, set the ERRAND_PAYLOADS_S3_ variables of that bucket. Restore them from a backup, or leave them behind with --without-damaged.\n`,
    )
    const moved = JSON.parse(await runErrand(['migrate-to', url, '--data', dataDir, '--without-damaged', '--json']))
    expect(moved).toMatchObject({
      ok: true,
      payloads: { count: 1, damaged: [missing, damaged] },
      tables: { payloads: 3 },
    })
    expect(moved.secretFile).toBe(join(dataDir, 'secret'))

    // Without any payloads left nodes start anyway, and never serve unwritten ones.
    rmSync(join(dataDir, 'moved.json'))
    rmSync(join(dataDir, 'payloads'), { recursive: true })
    const databaseUrl = await server.newDatabase({ isEmpty: true })
    const env = { ERRAND_SECRET: 'a secret of the tests only' }
    await runErrand(['migrate-to', databaseUrl, '--data', dataDir, '--without-damaged'], env)
    const node = await startService({ databaseUrl })
    const { tasks } = (await node.get('/api/tasks', key)).body
    for (const { id } of tasks) {
      const { requestUri } = (await node.get(`/api/tasks/${id}`, key)).body
      expect([404, 500]).toContain((await fetch(requestUri)).status)
    }
    expect(tasks).toHaveLength(3)
    await node.stop()
    rmSync(dataDir, { recursive: true })
  })

  test('rows or payloads that arrive as something else are found, and the database is not released', async () => {
    const dataDir = newDataDir()
    const service = await startService({ dataDir })
    const { key } = await service.createPerson()
    await service.runTask(key, 'test.echo', { text: 'x'.repeat(20_000) })
    await service.stop()
    for (const [table, change, found] of [
      [
        'api_keys',
        `NEW.name := 'other'`,
        'The table "api_keys" differs from what was copied \\(1 rows here, 1 there\\)',
      ],
      ['counters', 'RETURN NULL', 'The table "counters" differs from what was copied \\(\\d rows here, 0 there\\)'],
      ['payload_parts', `NEW.content := overlay(NEW.content placing '\\x00' from 9)`, '\\d payloads are .*damaged'],
    ] as const) {
      const url = await server.newDatabase()
      await withPool(url, async (pool) => {
        const body = `BEGIN ${change}; RETURN NEW; END`.replaceAll("'", "''")
        await pool.query(`CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS '${body}'`)
        await pool.query(`CREATE TRIGGER spoil BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION spoil()`)
      })
      const said = await refusal(['migrate-to', url, '--data', dataDir])
      expect(said).toMatch(new RegExp(`^1 errand: ${found}`))
      expect(await refusal(['users', 'list'], { ERRAND_DATABASE_URL: url })).toContain('is filling this database')
      expect(existsSync(join(dataDir, 'moved.json'))).toBe(false)
    }
    rmSync(dataDir, { recursive: true })
  })
})
