import { createHmac, randomUUID } from 'node:crypto'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
} from '@aws-sdk/client-s3'
import type { PayloadBucket } from './payload-bucket.ts'
import { adviceFor, describeFault, isMissing } from './s3-faults.ts'
import { newS3Client } from './s3-payload-store.ts'

export class BucketError extends Error {
  override readonly name = 'BucketError'
}

type Secrets = { current: string; previous: readonly string[] }

/**
 * Throws an error for the operator if the bucket does not support an operation that payloads need, or if another
 * installation uses the bucket. Two installations must not share a bucket, because each would delete the other's
 * payloads as orphans.
 */
export async function probeBucket(bucket: PayloadBucket, secrets: Secrets): Promise<void> {
  const client = newS3Client(bucket)
  try {
    await tryAll(client, bucket)
    await claim(client, { bucket, secrets })
  } finally {
    client.destroy()
  }
}

async function tryAll(client: S3Client, bucket: PayloadBucket): Promise<void> {
  const object = { Bucket: bucket.bucket, Key: `${bucket.prefix}probe/${randomUUID()}` }
  const content = 'Errand checks whether it can store payloads here.'
  const put = new PutObjectCommand({ ...object, Body: content })
  await tried(bucket, { what: 'written', work: () => client.send(put) })
  const list = new ListObjectsV2Command({ Bucket: bucket.bucket, Prefix: object.Key, MaxKeys: 1 })
  const { Contents: found } = await tried(bucket, { what: 'listed', work: () => client.send(list) })
  const read = await tried(bucket, { what: 'read', work: () => readText(client, object) })
  await tried(bucket, { what: 'deleted from', work: () => client.send(new DeleteObjectCommand(object)) })
  if (read !== content || found?.[0]?.Key !== object.Key) {
    throw new BucketError(`${nameOf(bucket)} did not return the written content. Use a service with consistent reads.`)
  }
}

async function claim(
  client: S3Client,
  { bucket, secrets }: { bucket: PayloadBucket; secrets: Secrets },
): Promise<void> {
  const object = { Bucket: bucket.bucket, Key: `${bucket.prefix}owner` }
  const known = await tried(bucket, {
    what: 'read',
    work: () =>
      readText(client, object).catch((error: unknown) => {
        if (isMissing(error)) return undefined
        throw error
      }),
  })
  const own = ownerMark(secrets.current)
  if (known === own) return
  if (known !== undefined && !secrets.previous.map(ownerMark).includes(known)) {
    throw new BucketError(
      `${nameOf(bucket)} is in use by an installation with another secret. Set a separate ERRAND_PAYLOADS_S3_PREFIX for this one, or set ERRAND_SECRET_PREVIOUS to the old secret.`,
    )
  }
  const put = new PutObjectCommand({ ...object, Body: own })
  await tried(bucket, { what: 'written', work: () => client.send(put) })
}

/** Returns a value that identifies the installation without revealing its secret. */
function ownerMark(secret: string): string {
  return createHmac('sha256', secret).update('errand: the owner of a bucket').digest('hex')
}

async function readText(client: S3Client, object: { Bucket: string; Key: string }): Promise<string> {
  const { Body: body } = await client.send(new GetObjectCommand(object))
  return await body!.transformToString()
}

type Try<Result> = { what: string; work: () => Promise<Result> }

async function tried<Result>(bucket: PayloadBucket, { what, work }: Try<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    const message = `${nameOf(bucket)} cannot be ${what}: ${describeFault(error).replace(/\.$/, '')}.`
    throw new BucketError(message + adviceFor(error, bucket))
  }
}

function nameOf({ bucket, endpoint, prefix }: PayloadBucket): string {
  const where = [endpoint && `at ${endpoint}`, prefix !== '' && `under ${prefix}`].filter(Boolean).join(' ')
  return `The bucket "${bucket}" of ERRAND_PAYLOADS_S3_BUCKET${where === '' ? '' : ` ${where}`}`
}
