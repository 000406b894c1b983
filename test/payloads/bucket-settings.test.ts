import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { agentEnvironment, resolvePayloadBucket } from '../../server/app/config.ts'
import { runErrand } from '../support/test-process.ts'
import { newDataDir, startService } from '../support/test-service.ts'

const own = 'ERRAND_PAYLOADS_S3_'
const of = (settings: Record<string, string>) =>
  resolvePayloadBucket(Object.fromEntries(Object.entries(settings).map(([name, value]) => [own + name, value])))

test('a bucket needs only a name, and accepts the other settings', () => {
  expect(resolvePayloadBucket({})).toBeUndefined()
  expect(of({ BUCKET: '', ENDPOINT: '', PREFIX: '' })).toBeUndefined()
  expect(of({ BUCKET: 'payloads' })).toEqual({ bucket: 'payloads', prefix: '', hasPathStyle: false })
  expect(
    of({
      BUCKET: 'payloads',
      ENDPOINT: 'https://s3.example.com/',
      REGION: 'auto',
      ACCESS_KEY_ID: 'id',
      SECRET_ACCESS_KEY: 'key',
      PREFIX: 'errand/one/',
    }),
  ).toEqual({
    bucket: 'payloads',
    endpoint: 'https://s3.example.com',
    region: 'auto',
    credentials: { accessKeyId: 'id', secretAccessKey: 'key' },
    prefix: 'errand/one/',
    hasPathStyle: true,
  })
  expect(of({ BUCKET: 'payloads', ENDPOINT: 'https://s3.example.com', PATH_STYLE: 'false' })?.hasPathStyle).toBe(false)
})

test('rejects an invalid setting by name without quoting secrets', () => {
  const secret = 'not to be seen'
  const refusals: [Record<string, string>, string][] = [
    [{ ENDPOINT: 'https://s3.example.com' }, 'BUCKET: must be set if ERRAND_PAYLOADS_S3_ENDPOINT is set'],
    [{ SECRET_ACCESS_KEY: secret }, 'BUCKET: must be set'],
    [{ BUCKET: 'a bucket' }, 'BUCKET: '],
    [{ BUCKET: 'payloads', ENDPOINT: 's3.example.com' }, 'ENDPOINT: '],
    [{ BUCKET: 'payloads', ENDPOINT: 'https://s3.example.com/payloads' }, 'ENDPOINT: '],
    [{ BUCKET: 'payloads', ENDPOINT: `https://id:${secret}@s3.example.com` }, 'ENDPOINT: '],
    [{ BUCKET: 'payloads', SECRET_ACCESS_KEY: secret }, 'ACCESS_KEY_ID: must be set'],
    [{ BUCKET: 'payloads', ACCESS_KEY_ID: 'id' }, 'SECRET_ACCESS_KEY: must be set'],
    [{ BUCKET: 'payloads', PREFIX: '/errand' }, 'PREFIX: '],
    [{ BUCKET: 'payloads', PREFIX: 'errand//one' }, 'PREFIX: '],
    [{ BUCKET: 'payloads', PATH_STYLE: 'yes' }, 'PATH_STYLE: must be true or false'],
  ]
  for (const [settings, message] of refusals) {
    expect(() => of(settings), JSON.stringify(settings)).toThrow(own + message)
    expect(() => of(settings)).not.toThrow(secret)
  }
})

test('agents do not see the bucket key or the database URL', () => {
  const secrets = {
    ERRAND_DATABASE_URL: 'postgres://errand:secret@127.0.0.1/errand',
    ERRAND_PAYLOADS_S3_ACCESS_KEY_ID: 'id',
    ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY: 'key',
  }
  expect(agentEnvironment({ ...secrets, HOME: '/root' })).toEqual({ HOME: '/root' })
})

test('a backup reports that it does not copy the payload bucket', async () => {
  const dataDir = newDataDir()
  const service = await startService({ dataDir })
  const { key } = await service.createPerson()
  await service.runTask(key, 'test.large', { chars: 20_000 })
  await service.stop()
  const env = { [`${own}BUCKET`]: 'payloads-elsewhere' }
  const file = join(dataDir, 'backup.db')
  const text = await runErrand(['backup', file, '--data', dataDir], env)
  expect(text).toContain('This command does not copy the payloads in the bucket "payloads-elsewhere".')
  const json = await runErrand(['backup', `${file}.second`, '--data', dataDir, '--json'], env)
  expect(JSON.parse(json)).toEqual({ file: `${file}.second`, payloads: null, uncopiedBucket: 'payloads-elsewhere' })
  rmSync(dataDir, { recursive: true })
})

test('a service without a bucket does not load the S3 client', () => {
  const root = fileURLToPath(new URL('../../server/', import.meta.url))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  const importers = (what: RegExp) => files.filter((name) => what.test(readFileSync(join(root, name), 'utf8')))
  const clients = importers(/^import [^;]*?from '@aws-sdk\//m)
  expect(clients.toSorted()).toEqual(['payloads/s3-payload-store.ts', 'payloads/s3-probe.ts'])
  // Their importers load them dynamically, only if there is a bucket.
  expect(importers(/from '[^']*\/s3-(?:payload-store|probe)\.ts'/).toSorted()).toEqual(['payloads/s3-probe.ts'])
  expect(importers(/await import\('[^']*\/s3-(?:payload-store|probe)\.ts'\)/)).toEqual(['app/open-payloads.ts'])
})
