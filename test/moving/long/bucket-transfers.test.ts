import { execFile, type ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { PayloadBucket } from '../../../server/payloads/payload-bucket.ts'
import { LinkRelay } from '../../payloads/link-relay.ts'
import {
  accessKeyId,
  bucketAt,
  bucketVariables,
  describeS3,
  keysOf,
  secretAccessKey,
  type S3Server,
} from '../../payloads/s3-server.ts'
import { describePostgres } from '../../store/postgres-engine.ts'
import { withPool, type PostgresServer } from '../../support/postgres-server.ts'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { newDataDir, startService, type Person, type TestService } from '../../support/test-service.ts'
import { secret, secrets } from '../filled-installation.ts'
import { usersIn } from '../transfer-runs.ts'

const main = fileURLToPath(new URL('../../../server/main.ts', import.meta.url))

const buckets: S3Server[] = []
await describeS3('transferring an installation to a bucket', (server) => void buckets.push(server))
for (const s3 of buckets)
  await describePostgres('transferring an installation to a bucket', (server) => transfersTo(s3, server))

/** Returns the exit code and one-line message of a failed command. */
async function failureOf(ran: Promise<string>): Promise<string> {
  const said = await ran.then(
    (stdout) => `0 ${stdout}`,
    ({ code, signal, stderr }: { code: number | null; signal: string | null; stderr: string }) =>
      `${code ?? signal} ${stderr}`,
  )
  for (const hidden of [secretAccessKey, accessKeyId, secret]) expect(said).not.toContain(hidden)
  return said
}

/** Runs tasks with large requests and responses, and returns the stored payloads by id. */
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

/** Creates an installation with a user's payloads, in files or in the bucket. */
async function newInstallation(payloadBucket?: PayloadBucket) {
  const dataDir = newDataDir()
  const service = await startService({ dataDir, secrets, ...(payloadBucket && { payloadBucket }) })
  const person = await service.createPerson()
  const stored = await runLarge(service, person, ['\0'.repeat(20_000), 'né€😀'.repeat(4000), 'y"\\'.repeat(9000)])
  await service.stop()
  return { dataDir, person, stored }
}

function transfersTo(s3: S3Server, server: PostgresServer): void {
  test('after a killed and repeated import, all file payloads are in the bucket, byte for byte', async () => {
    const bucket = await s3.newBucket()
    const { dataDir, person, stored } = await newInstallation()
    const file = join(dataDir, 'export.ndjson')
    await runErrand(['export', file, '--data', dataDir])
    const relay = await LinkRelay.to(s3.port)
    const databaseUrl = await server.newDatabase({ isEmpty: true })
    const env = {
      ERRAND_SECRET: secret,
      ERRAND_DATABASE_URL: databaseUrl,
      ...bucketVariables(bucketAt(bucket, relay.port)),
    }
    let puts = 0
    let importing: ChildProcess | undefined
    relay.spoil((data) => {
      if (/^PUT \S*\/pay_/.test(data.toString('latin1')) && ++puts === 3) importing?.kill('SIGKILL')
      return data
    })
    const killed = new Promise((resolve) => {
      importing = execFile(process.execPath, [main, 'import', file], { env: { ...process.env, ...env } })
      importing.once('exit', (_, signal) => resolve(signal))
    })
    expect(await killed).toBe('SIGKILL')
    relay.spoil(undefined)
    expect(await usersIn([], env)).toEqual([])

    await runErrand(['import', file], env)
    expect(await keysOf(bucket)).toEqual(['installation/owner', ...[...stored.keys()].map(keyOf)].toSorted())
    const inDatabase = await withPool(databaseUrl, (pool) => pool.query('SELECT count(*)::int FROM payload_parts'))
    expect(inDatabase.rows).toEqual([{ count: 0 }])
    rmSync(dataDir, { recursive: true })
    const node = await startProcess({ dataDir, env })
    expect(await downloadAll(node.url, person)).toEqual(stored)
    await node.end('SIGTERM')
    await relay.close()
    rmSync(dataDir, { recursive: true, force: true })
  }, 120_000)

  test('payloads in a bucket stay there, and are imported only with a bucket', async () => {
    const bucket = await s3.newBucket()
    const { dataDir, person, stored } = await newInstallation(bucket)
    const file = join(dataDir, 'export.ndjson')
    const ofBucket = bucketVariables(bucket)
    const without = await failureOf(runErrand(['export', file, '--data', dataDir]))
    expect(without).toMatch(
      /^1 errand: 6 payloads are missing or damaged: .* If they are in a bucket, set its ERRAND_PAYLOADS_S3_ variables\. /,
    )
    await runErrand(['export', file, '--data', dataDir], ofBucket)
    const env = { ERRAND_SECRET: secret, ERRAND_DATABASE_URL: await server.newDatabase({ isEmpty: true }) }
    expect(await failureOf(runErrand(['import', file], env))).toBe(
      `2 errand: ERRAND_PAYLOADS_S3_BUCKET: must be set, because the payloads are in the bucket "${bucket.bucket}"\n`,
    )
    await runErrand(['import', file], { ...env, ...ofBucket })
    const node = await startProcess({ dataDir, env: { ...env, ...ofBucket } })
    expect(await downloadAll(node.url, person)).toEqual(stored)
    await node.end('SIGTERM')
    rmSync(dataDir, { recursive: true })
  }, 120_000)

  test('an unusable bucket is rejected before any write, and a bucket lost midway leaves no rows', async () => {
    const bucket = await s3.newBucket()
    const { dataDir } = await newInstallation()
    const file = join(dataDir, 'export.ndjson')
    await runErrand(['export', file, '--data', dataDir])
    const relay = await LinkRelay.to(s3.port)
    const databaseUrl = await server.newDatabase({ isEmpty: true })
    const env = {
      ERRAND_SECRET: secret,
      ERRAND_DATABASE_URL: databaseUrl,
      ...bucketVariables(bucketAt(bucket, relay.port)),
    }
    const fails = (changes: Record<string, string> = {}) =>
      failureOf(runErrand(['import', file], { ...env, ...changes }))
    const expectNothing = async () => {
      expect(await keysOf(bucket)).toEqual([])
      const tables = `SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`
      expect((await withPool(databaseUrl, (pool) => pool.query(tables))).rows).toEqual([])
    }
    relay.cut()
    expect(await fails()).toMatch(
      /^1 errand: The bucket "payloads-\d+" of ERRAND_PAYLOADS_S3_BUCKET at http:\S+ under installation\/ cannot be written: .*\n$/,
    )
    relay.heal()
    await expectNothing()
    expect(await fails({ ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY: 'wrong' })).toMatch(
      /^1 errand: .*SignatureDoesNotMatch.* Check ERRAND_PAYLOADS_S3_ACCESS_KEY_ID and .*\n$/,
    )
    await expectNothing()

    relay.spoil((data) => {
      if (/^PUT \S*\/pay_/.test(data.toString('latin1'))) relay.cut()
      return data
    })
    expect(await fails()).toMatch(/^1 errand: Could not store the payload, so nothing was changed\. Try again\.\n$/)
    relay.spoil(undefined)
    relay.heal()
    expect(await usersIn([], env)).toEqual([])
    await runErrand(['import', file], env)

    // Another installation finds the mark of this one in the bucket.
    const other = { ERRAND_DATABASE_URL: await server.newDatabase({ isEmpty: true }) }
    expect(await fails({ ...other, ERRAND_SECRET: 'the secret of somebody else' })).toMatch(
      /^1 errand: The bucket .* is in use by an installation with another secret\. .*\n$/,
    )
    await relay.close()
    rmSync(dataDir, { recursive: true })
  }, 120_000)
}
