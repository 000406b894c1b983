import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { SystemClock } from '../../server/kernel/clock.ts'
import type { Logger } from '../../server/kernel/logger.ts'
import { newId } from '../../server/kernel/ids.ts'
import { newS3Client, S3PayloadStore } from '../../server/payloads/s3-payload-store.ts'
import { startProcess } from '../support/test-process.ts'
import { newDataDir, startService } from '../support/test-service.ts'
import { expectLargeTask } from './large-requests.ts'
import { LinkRelay } from './link-relay.ts'
import {
  accessKeyId,
  bucketAt,
  bucketVariables,
  describeS3,
  keysOf,
  secretAccessKey,
  type S3Server,
} from './s3-server.ts'

await describeS3('the service', describeService)

function describeService(server: S3Server): void {
  test('S3: large params and results go through the bucket, and no file is written', async () => {
    const payloadBucket = await server.newBucket()
    const service = await startService({ payloadBucket })
    const { ids } = await expectLargeTask(service)
    expect(existsSync(join(service.dataDir, 'payloads'))).toBe(false)
    const keys = await keysOf(payloadBucket)
    expect(keys.toSorted()).toEqual(
      ['installation/owner', ...ids.map((id) => `installation/${id.slice(-1)}/${id}.json`)].toSorted(),
    )
    await service.stop()
  })

  test('S3: an unreachable bucket rejects large tasks without a charge, but small tasks run', async () => {
    const bucket = await server.newBucket()
    const relay = await LinkRelay.to(server.port)
    const errors: unknown[] = []
    const error: Logger['error'] = (fields) => void errors.push(fields)
    const log = { debug() {}, info() {}, warn() {}, error }
    const service = await startService({ payloadBucket: bucketAt(bucket, relay.port), log })
    const { key } = await service.createPerson()
    const large = { text: 'x'.repeat(20_000) }
    const { responseUri } = await service.runTask(key, 'test.echo', large)
    relay.cut()
    const refused = await service.createTask(key, 'test.echo', large)
    expect(refused).toMatchObject({
      status: 503,
      body: { statusCode: 503, code: 'SERVICE_UNAVAILABLE', error: 'Service unavailable' },
    })
    expect(refused.headers.get('retry-after')).toBe('5')
    expect((await fetch(responseUri)).status).toBe(503)
    expect((await service.runTask(key, 'test.echo', { text: 'small' })).status).toBe('completed')
    // A task whose result waits for the bucket completes once it is back.
    const { taskId } = (await service.createTask(key, 'test.large', { chars: 20_000 })).body
    relay.heal()
    expect((await service.get(`/api/tasks/${taskId}?wait=20`, key)).body.status).toBe('completed')
    expect(await (await fetch(responseUri)).json()).toEqual(large)
    expect((await service.get('/api/account', key)).body.balanceUsd).toBe('9.9700')
    expect(errors.length).toBeGreaterThan(0)
    const written = inspect(errors, { depth: 20, showHidden: true })
    for (const secret of [secretAccessKey, accessKeyId, 'Signature=', 'Credential='])
      expect(written).not.toContain(secret)
    await service.stop()
    await relay.close()
  })

  test('S3: rejects an unusable bucket at startup in one line that says why', async () => {
    const bucket = await server.newBucket()
    const refused = async (changes: Record<string, string>) => {
      const dataDir = newDataDir()
      const env = { ...bucketVariables(bucket), ...changes }
      const failure = await startProcess({ dataDir, env }).then(
        () => 'it has started',
        (error: unknown) => String(error),
      )
      rmSync(dataDir, { recursive: true })
      expect(failure).toMatch(/the server exited with 1: errand: [^\n]+\n$/)
      expect(failure).not.toContain(secretAccessKey)
      return failure
    }
    const relay = await LinkRelay.to(server.port)
    relay.cut()
    const endpoint = `http://127.0.0.1:${relay.port}`
    expect(await refused({ ERRAND_PAYLOADS_S3_ENDPOINT: endpoint })).toContain(
      `at ${endpoint} under installation/ cannot be written`,
    )
    await relay.close()
    expect(await refused({ ERRAND_PAYLOADS_S3_BUCKET: 'not-made' })).toContain(
      'The bucket "not-made" of ERRAND_PAYLOADS_S3_BUCKET',
    )
    const wrongSecret = await refused({ ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY: 'wrong' })
    expect(wrongSecret).toContain('SignatureDoesNotMatch')
    expect(wrongSecret).toContain('Check ERRAND_PAYLOADS_S3_ACCESS_KEY_ID')
    expect(await keysOf(bucket)).toEqual([])
  })

  test('S3: rejects the prefix of another installation, but survives a secret rotation', async () => {
    const payloadBucket = await server.newBucket()
    const start = (current: string, previous: string[], prefix = payloadBucket.prefix) =>
      startService({ payloadBucket: { ...payloadBucket, prefix }, secrets: () => ({ current, previous }) })
    await (await start('the secret of one of them', [])).stop()
    await expect(start('the secret of the other', [])).rejects.toThrow(
      /another secret\. Set a separate ERRAND_PAYLOADS_S3_PREFIX/,
    )
    await (await start('the secret of the other', [], 'other/')).stop()
    await (await start('the next secret of one', ['the secret of one of them'])).stop()
    await (await start('the next secret of one', [])).stop()
    await expect(start('the secret of one of them', [])).rejects.toThrow(/another secret/)
  })

  test('S3: rejects a bucket without the payloads that the database references', async () => {
    const dataDir = newDataDir()
    const first = await startService({ dataDir })
    await expectLargeTask(first)
    await first.stop()
    const payloadBucket = await server.newBucket()
    await expect(startService({ dataDir, payloadBucket })).rejects.toThrow(
      `This database's payloads are not in the bucket "${payloadBucket.bucket}"`,
    )
    const second = await startService({ dataDir })
    await second.stop()
    rmSync(dataDir, { recursive: true })
  })

  test('S3: the bucket rejects content that was corrupted in transit', async () => {
    const bucket = await server.newBucket()
    const relay = await LinkRelay.to(server.port)
    const store = new S3PayloadStore(bucketAt(bucket, relay.port), new SystemClock())
    relay.spoil((data) => {
      const at = data.indexOf('xxxxxxxx')
      return at === -1 ? data : Buffer.concat([data.subarray(0, at), Buffer.from('y'), data.subarray(at + 1)])
    })
    await expect(store.write('x'.repeat(20_000))).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
    expect(await keysOf(bucket)).toEqual([])
    relay.spoil(undefined)
    const { digest, id } = await store.write('x'.repeat(20_000))
    expect(await store.read(id, digest)).toHaveLength(20_000)
    await store.close()
    await relay.close()
  })

  test('S3: finds orphans on every listing page and keeps other objects', async () => {
    const bucket = await server.newBucket()
    const store = new S3PayloadStore(bucket, new SystemClock(), 2)
    const ids = Array.from({ length: 9 }, (_, n) => newId('pay', n * 1000).replace(/.$/, n < 8 ? '0' : 'z'))
    for (const id of ids) await store.writeAs(id, `"${id}"`)
    const client = newS3Client(bucket)
    const foreign = { Bucket: bucket.bucket, Key: 'installation/0/notes.json' }
    const { PutObjectCommand } = await import('@aws-sdk/client-s3')
    await client.send(new PutObjectCommand({ ...foreign, Body: '{}' }))
    client.destroy()
    const named = new Set(ids.filter((_, n) => n % 3 === 0))
    const asked: string[] = []
    const hasRow = (id: string) => Promise.resolve((asked.push(id), named.has(id)))
    expect(await store.collectOrphans(-5000, hasRow)).toBe(6)
    expect(asked.toSorted()).toEqual(ids.toSorted())
    expect(await keysOf(bucket)).toHaveLength(named.size + 1)
    // The collection does not check referenced payloads again.
    asked.length = 0
    expect(await store.collectOrphans(-5000, hasRow)).toBe(0)
    expect(asked).toEqual([])
    await store.close()
  })
}
