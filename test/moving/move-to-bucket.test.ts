import { execFile, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import type { PayloadBucket } from '../../server/payloads/payload-bucket.ts'
import { newS3Client } from '../../server/payloads/s3-payload-store.ts'
import { LinkRelay } from '../payloads/link-relay.ts'
import {
  accessKeyId,
  bucketAt,
  bucketVariables,
  describeS3,
  keysOf,
  secretAccessKey,
  type S3Server,
} from '../payloads/s3-server.ts'
import { describePostgres } from '../store/postgres-engine.ts'
import { withPool, type PostgresServer } from '../support/postgres-server.ts'
import { runErrand, startProcess } from '../support/test-process.ts'
import { newDataDir, startService, type Person, type TestService } from '../support/test-service.ts'
import { secret, secrets } from './filled-installation.ts'
import { HeldInserts } from './held-inserts.ts'

const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url))

const buckets: S3Server[] = []
await describeS3('an installation is moved to a bucket', (server) => void buckets.push(server))
for (const s3 of buckets)
  await describePostgres('an installation is moved to a bucket', (server) => movesTo(s3, server))

/** The exit code and one-line message of a failed command. */
async function failureOf(ran: Promise<string>): Promise<string> {
  const said = await ran.then(
    (stdout) => `0 ${stdout}`,
    ({ code, signal, stderr }: { code: number | null; signal: string | null; stderr: string }) =>
      `${code ?? signal} ${stderr}`,
  )
  for (const hidden of [secretAccessKey, accessKeyId, secret]) expect(said).not.toContain(hidden)
  return said
}

/** Stored payloads of tasks with large requests and responses, by payload id. */
async function runLarge(service: TestService, { key }: Person, texts: string[]): Promise<Map<string, Buffer>> {
  const stored = new Map<string, Buffer>()
  for (const text of texts) {
    const task = await service.runTask(key, 'test.echo', { text })
    for (const uri of [task.requestUri, task.responseUri]) stored.set(...(await download(uri)))
  }
  return stored
}

async function download(uri: string): Promise<[id: string, content: Buffer]> {
  const answer = await fetch(uri)
  expect(answer.status).toBe(200)
  return [/pay_\w+/.exec(uri)![0], Buffer.from(await answer.arrayBuffer())]
}

async function downloadAll(url: string, { key }: Person): Promise<Map<string, Buffer>> {
  const read = async (path: string): Promise<any> =>
    await (await fetch(url + path, { headers: { Authorization: `Bearer ${key}` } })).json()
  const stored = new Map<string, Buffer>()
  for (const { id } of (await read('/api/tasks')).tasks) {
    const { requestUri, responseUri } = await read(`/api/tasks/${id}`)
    for (const uri of [requestUri, responseUri]) stored.set(...(await download(uri)))
  }
  return stored
}

const keyOf = (id: string) => `installation/${id.slice(-1)}/${id}.json`
const filesIn = (dataDir: string) =>
  readdirSync(join(dataDir, 'payloads'), { recursive: true, encoding: 'utf8' }).flatMap(
    (name) => /pay_\w+/.exec(name)?.[0] ?? [],
  )

/** A user's payloads in a data directory's files and, with a bucket, others already in it. */
async function newInstallation(payloadBucket?: PayloadBucket, largest = 20_000) {
  const dataDir = newDataDir()
  let person: Person | undefined
  const inBucket = new Map<string, Buffer>()
  if (payloadBucket) {
    const before = await startService({ dataDir, secrets, payloadBucket })
    person = await before.createPerson()
    for (const [id, content] of await runLarge(before, person, ['né€😀'.repeat(4000)])) inBucket.set(id, content)
    await before.stop()
  }
  const service = await startService({ dataDir, secrets })
  person ??= await service.createPerson()
  const inFiles = await runLarge(service, person, ['\0'.repeat(20_000), 'x'.repeat(largest), 'y"\\'.repeat(9000)])
  await service.stop()
  return { dataDir, person, inBucket, inFiles }
}

function movesTo(s3: S3Server, server: PostgresServer): void {
  test('payloads of files and of the bucket are all there after kills, and a node gives them byte for byte', async () => {
    const bucket = await s3.newBucket()
    const { dataDir, inBucket, inFiles, person } = await newInstallation(bucket, 4_300_000)
    const relay = await LinkRelay.to(s3.port)
    const databaseUrl = await server.newDatabase()
    const args = ['migrate-to', databaseUrl, '--data', dataDir, '--json']
    const env = { ERRAND_SECRET: secret, ...bucketVariables(bucketAt(bucket, relay.port)) }

    // Killed while writing payloads: the directory continues as if nothing had happened.
    let puts = 0
    let moving: ChildProcess | undefined
    relay.spoil((data) => {
      if (/^PUT \S*\/pay_/.test(data.toString('latin1')) && ++puts === 3) moving?.kill('SIGKILL')
      return data
    })
    const killed = new Promise((resolve) => {
      moving = execFile(process.execPath, [main, ...args], { env: { ...process.env, ...env } })
      moving.once('exit', (_, signal) => resolve(signal))
    })
    expect(await killed).toBe('SIGKILL')
    relay.spoil(undefined)
    expect(existsSync(join(dataDir, 'moved.json'))).toBe(false)
    const between = await startService({ dataDir, secrets })
    for (const [id, content] of await runLarge(between, person, ['z'.repeat(20_000)])) inFiles.set(id, content)
    await between.stop()

    // Killed in the last transaction, when the directory is already marked as moved.
    await withPool(databaseUrl, async (pool) => {
      const held = await HeldInserts.install(pool, ['settings'])
      await held.killAt('settings', { args, env })
      await held.remove()
    })
    expect(existsSync(join(dataDir, 'moved.json'))).toBe(true)
    const stored = new Map([...inBucket, ...inFiles])
    const bytes = [...stored.values()].reduce((sum, content) => sum + content.length, 0)
    const moved = JSON.parse(await runErrand(args, env))
    expect(moved).toMatchObject({ ok: true, payloads: { count: stored.size, bytes, damaged: [] } })
    expect(await keysOf(bucket)).toEqual(['installation/owner', ...[...stored.keys()].map(keyOf)].toSorted())
    const inDatabase = await withPool(databaseUrl, (pool) => pool.query('SELECT count(*)::int FROM payload_parts'))
    expect(inDatabase.rows).toEqual([{ count: 0 }])
    expect(filesIn(dataDir).toSorted()).toEqual([...inFiles.keys()].toSorted())

    rmSync(dataDir, { recursive: true })
    const node = await startProcess({ dataDir, env: { ...env, ERRAND_DATABASE_URL: databaseUrl } })
    const served = await downloadAll(node.url, person)
    expect([...served.keys()].toSorted()).toEqual([...stored.keys()].toSorted())
    for (const [id, content] of stored) expect(served.get(id)?.equals(content), id).toBe(true)
    await node.end('SIGTERM')
    await relay.close()
    rmSync(dataDir, { recursive: true, force: true })
  }, 120_000)

  test('a bucket that cannot be used is refused before anything is written; one that is lost midway can be gone on with', async () => {
    const bucket = await s3.newBucket()
    const { dataDir, inFiles, person } = await newInstallation()
    const relay = await LinkRelay.to(s3.port)
    const through = bucketAt(bucket, relay.port)
    const databaseUrl = await server.newDatabase({ isEmpty: true })
    const args = ['migrate-to', databaseUrl, '--data', dataDir]
    const env = { ERRAND_SECRET: secret, ...bucketVariables(through) }
    const move = (changes: Record<string, string> = {}) => failureOf(runErrand(args, { ...env, ...changes }))
    const expectNothing = async () => {
      expect(await keysOf(bucket)).toEqual([])
      expect(existsSync(join(dataDir, 'moved.json'))).toBe(false)
      const tables = `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`
      expect((await withPool(databaseUrl, (pool) => pool.query(tables))).rows).toEqual([])
    }
    relay.cut()
    expect(await move()).toMatch(
      /^1 errand: The bucket "payloads-\d+" of ERRAND_PAYLOADS_S3_BUCKET at http:\S+ under installation\/ cannot be written: .*\n$/,
    )
    relay.heal()
    await expectNothing()
    expect(await move({ ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY: 'wrong' })).toMatch(
      /^1 errand: .*SignatureDoesNotMatch.* Check ERRAND_PAYLOADS_S3_ACCESS_KEY_ID and .*\n$/,
    )
    await expectNothing()
    expect(await move({ ERRAND_PAYLOADS_S3_BUCKET: 'not-made' })).toMatch(
      /^1 errand: The bucket "not-made" .*NoSuchBucket.*\n$/,
    )
    await expectNothing()

    // Reachable at first, lost in the middle.
    relay.spoil((data) => {
      if (/^PUT \S*\/pay_/.test(data.toString('latin1'))) relay.cut()
      return data
    })
    expect(await move()).toMatch(
      /^1 errand: The payload pay_\w+ could not be moved: The bucket request failed: .*Run this again\.\n$/,
    )
    relay.spoil(undefined)
    relay.heal()
    expect(existsSync(join(dataDir, 'moved.json'))).toBe(false)
    expect(await failureOf(runErrand(['users', 'list'], { ERRAND_DATABASE_URL: databaseUrl }))).toContain(
      'is filling this database',
    )
    const left = await startService({ dataDir, secrets })
    expect(await downloadAll(left.url, person)).toEqual(inFiles)
    await left.stop()
    expect(await move()).toMatch(/^0 [^]*Done in /)
    expect(await keysOf(bucket)).toEqual(['installation/owner', ...[...inFiles.keys()].map(keyOf)].toSorted())

    // The mark of another installation.
    const other = await server.newDatabase({ isEmpty: true })
    rmSync(join(dataDir, 'moved.json'))
    const refused = await failureOf(
      runErrand(['migrate-to', other, '--data', dataDir], { ...env, ERRAND_SECRET: 'the secret of somebody else' }),
    )
    expect(refused).toMatch(/^1 errand: The bucket .* is in use by an installation with another secret: .*\n$/)
    expect(existsSync(join(dataDir, 'moved.json'))).toBe(false)
    await relay.close()
    rmSync(dataDir, { recursive: true })
  }, 120_000)

  test('payloads of a bucket that is not named, or no longer in it, are not taken for moved', async () => {
    const bucket = await s3.newBucket()
    const { dataDir, inBucket } = await newInstallation(bucket)
    const databaseUrl = await server.newDatabase({ isEmpty: true })
    const move = (env: Record<string, string>) =>
      failureOf(runErrand(['migrate-to', databaseUrl, '--data', dataDir], { ERRAND_SECRET: secret, ...env }))
    const ids = [...inBucket.keys()].toSorted()
    const said = `1 errand: 2 payloads are missing or damaged: ${ids.join(', ')}. `
    const advice = 'If they are in a bucket, set the ERRAND_PAYLOADS_S3_ variables of that bucket. '
    expect(await move({})).toContain(said + advice)
    const client = newS3Client(bucket)
    const [missing, emptied] = ids.map((id) => ({ Bucket: bucket.bucket, Key: keyOf(id) }))
    await client.send(new DeleteObjectCommand(missing!))
    await client.send(new PutObjectCommand({ ...emptied!, Body: '' }))
    client.destroy()
    expect(await move(bucketVariables(bucket))).toBe(
      `${said}Restore them from a backup, or leave them behind with --without-damaged.\n`,
    )
    expect(existsSync(join(dataDir, 'moved.json'))).toBe(false)
    rmSync(dataDir, { recursive: true })
  }, 60_000)
}
