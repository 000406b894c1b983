import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { CreateBucketCommand, ListObjectsV2Command } from '@aws-sdk/client-s3'
import { afterAll, test } from 'vitest'
import type { PayloadBucket } from '../../server/payloads/payload-bucket.ts'
import { newS3Client } from '../../server/payloads/s3-payload-store.ts'
import { CannotRun, skipOrFail } from '../support/test-parts.ts'
import { within } from '../support/until.ts'

const startMsMax = 60_000
const python = '/usr/bin/python3'
const script = fileURLToPath(new URL('./swift-server.py', import.meta.url))
export const accessKeyId = 'errand:tests'
export const secretAccessKey = 'a-secret-of-the-tests-of-buckets'

export type S3Server = {
  port: number
  newBucket(): Promise<PayloadBucket>
  stop(): Promise<void>
}

/** Runs tests on a real S3 server. Without one, a single placeholder test states the reason. */
export async function describeS3(what: string, describe: (server: S3Server) => void): Promise<void> {
  let server: S3Server
  try {
    server = await startS3()
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error
    return test(`S3: ${what}`, (context) => skipOrFail(context, error))
  }
  afterAll(() => server.stop())
  describe(server)
}

async function startS3(): Promise<S3Server> {
  try {
    execFileSync(python, ['-c', 'import swift.common.middleware.s3api'], { stdio: 'ignore' })
  } catch {
    throw new CannotRun('s3', 'OpenStack Swift is not here')
  }
  const folder = mkdtempSync(join(tmpdir(), 'errand-swift-'))
  const child = spawn(python, [script, folder, accessKeyId, secretAccessKey], { stdio: ['pipe', 'pipe', 'pipe'] })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log = (log + chunk.toString()).slice(-2000)))
  const exited = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGKILL')
    await exited
    rmSync(folder, { recursive: true, force: true })
  }
  const answered = Promise.race([once(createInterface(child.stdout), 'line'), exited.then(() => [''])])
  const [line] = (await within('OpenStack Swift listens', startMsMax, answered).catch(() => [''])) as [string]
  if (line === '') {
    await stop()
    // OpenStack Swift is installed, so a failure to start is not a reason to skip.
    throw new Error(`OpenStack Swift does not start: ${log}`)
  }
  const port = Number(line)
  let buckets = 0
  return {
    port,
    newBucket: async () => {
      const bucket: PayloadBucket = {
        bucket: `payloads-${++buckets}`,
        endpoint: `http://127.0.0.1:${port}`,
        credentials: { accessKeyId, secretAccessKey },
        prefix: 'installation/',
        hasPathStyle: true,
      }
      const client = newS3Client(bucket)
      await client.send(new CreateBucketCommand({ Bucket: bucket.bucket }))
      client.destroy()
      return bucket
    },
    stop,
  }
}

export function bucketAt(bucket: PayloadBucket, port: number): PayloadBucket {
  return { ...bucket, endpoint: `http://127.0.0.1:${port}` }
}

export function bucketVariables({ bucket, credentials, endpoint, prefix }: PayloadBucket): Record<string, string> {
  return {
    ERRAND_PAYLOADS_S3_BUCKET: bucket,
    ERRAND_PAYLOADS_S3_ENDPOINT: endpoint!,
    ERRAND_PAYLOADS_S3_ACCESS_KEY_ID: credentials!.accessKeyId,
    ERRAND_PAYLOADS_S3_SECRET_ACCESS_KEY: credentials!.secretAccessKey,
    ERRAND_PAYLOADS_S3_PREFIX: prefix,
  }
}

export async function keysOf(bucket: PayloadBucket): Promise<string[]> {
  const client = newS3Client(bucket)
  const { Contents: found = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket.bucket }))
  client.destroy()
  return found.map(({ Key: key = '' }) => key).toSorted()
}
