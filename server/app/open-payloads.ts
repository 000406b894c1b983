import { join } from 'node:path'
import type { Secrets } from '../kernel/secret-vault.ts'
import type { Clock } from '../kernel/clock.ts'
import { FilePayloadStore } from '../payloads/file-payload-store.ts'
import type { PayloadBucket } from '../payloads/payload-bucket.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { Store } from '../store/store.ts'

export type PayloadSettings = {
  dataDir: string
  databaseUrl?: string | undefined
  payloadBucket?: PayloadBucket | undefined
  secrets: () => Secrets
}

const pollsMax = 20

type Names = Pick<Store, 'listPayloads'>

/** Thrown if the configured location does not contain the payloads. The message is for the operator. */
class PayloadPlaceError extends Error {
  override readonly name = 'PayloadPlaceError'
}

/**
 * Opens the configured bucket, or a payload store next to the database if there is none. Throws if the bucket is
 * unusable or does not contain the payloads.
 */
export async function openPayloads(settings: PayloadSettings, store: Names, clock: Clock): Promise<PayloadStore> {
  const { databaseUrl, dataDir, payloadBucket, secrets } = settings
  if (payloadBucket) {
    const { probeBucket } = await import('../payloads/s3-probe.ts')
    await probeBucket(payloadBucket, secrets())
    const { S3PayloadStore } = await import('../payloads/s3-payload-store.ts')
    return await assertPayloadsFound(new S3PayloadStore(payloadBucket, clock), {
      store,
      refusal: `are not in the bucket "${payloadBucket.bucket}" under the prefix "${payloadBucket.prefix}". Set ERRAND_PAYLOADS_S3_BUCKET and ERRAND_PAYLOADS_S3_PREFIX to their location, or unset both if they were never in a bucket.`,
    })
  }
  if (databaseUrl === undefined) return new FilePayloadStore(join(dataDir, 'payloads'), clock)
  const { PostgresPayloadStore } = await import('../store/postgres/payload-parts.ts')
  return await assertPayloadsFound(new PostgresPayloadStore(databaseUrl, clock), {
    store,
    refusal: 'are not in the database itself. Set ERRAND_PAYLOADS_S3_BUCKET to the bucket that has them.',
  })
}

type Place = { store: Names; refusal: string }

/**
 * Throws if the database references payloads but the first `pollsMax` of them are missing from this location. A few
 * payloads may be lost, but if so many are missing, the settings name the wrong location.
 */
async function assertPayloadsFound(payloads: PayloadStore, { refusal, store }: Place): Promise<PayloadStore> {
  try {
    const named = await store.listPayloads({ afterId: '', limit: pollsMax })
    for (const { id } of named) if (await payloads.openStream(id)) return payloads
    if (named.length > 0) throw new PayloadPlaceError(`This database's payloads ${refusal}`)
    return payloads
  } catch (error) {
    await payloads.close()
    throw error
  }
}
