import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import type { Clock } from '../kernel/clock.ts'
import { isId } from '../kernel/ids.ts'
import type { PayloadDigest } from './stored-json.ts'
import { checkedBytes, checkedText } from './content-parts.ts'
import { digestOf, PayloadDamage } from './payload-digest.ts'
import type { PayloadBucket } from './payload-bucket.ts'
import { NewPayloads, notRead, notStored, type PayloadContent, type PayloadStore } from './payload-store.ts'
import { isMissing, isOutOfRange, plainFault } from './s3-faults.ts'

// This file and `s3-probe.ts` are imported only if a bucket is configured.

/**
 * Bytes per read request. Each range is downloaded completely before it is yielded, so a slow reader does not occupy
 * a connection. A lost connection costs at most one range.
 */
const rangeBytesMax = 4_194_304
const triesMax = 3
const connectTimeoutMs = 3000
const idleTimeoutMs = 15_000
/** Timeout of one request, including its retries. */
const requestTimeoutMs = 60_000
const connectionsMax = 100
const keysMax = 20_000
const looksAtOnce = 4
const lastCharacters = '0123456789abcdefghjkmnpqrstvwxyz'

export class S3PayloadStore extends NewPayloads implements PayloadStore {
  readonly #client: S3Client
  readonly #bucket: PayloadBucket
  readonly #pageKeys: number
  /**
   * For each folder, the last key that previous collections checked. All remaining payloads up to this key have rows,
   * so they are not checked again.
   */
  readonly #seen = new Map<string, string>()

  constructor(bucket: PayloadBucket, clock: Clock, pageKeys = 1000) {
    super(clock)
    this.#pageKeys = pageKeys
    this.#client = newS3Client(bucket)
    this.#bucket = bucket
  }

  async writeAs(payloadId: string, given: PayloadContent): Promise<PayloadDigest> {
    const content = typeof given === 'string' ? Buffer.from(given) : given
    try {
      const put = { ...this.#object(payloadId), Body: content, ContentType: 'application/json' }
      await this.#client.send(new PutObjectCommand(put), withinTime())
    } catch (error) {
      throw notStored(plainFault(error))
    }
    return digestOf(content)
  }

  protected async discard(payloadId: string): Promise<void> {
    await this.#remove(this.#object(payloadId).Key)
  }

  async read(payloadId: string, digest: PayloadDigest | null): Promise<string> {
    return await checkedText(this.#ranges(payloadId), { payloadId, digest })
  }

  async readBytes(payloadId: string, digest: PayloadDigest | null): Promise<Buffer> {
    return await checkedBytes(this.#ranges(payloadId), { payloadId, digest })
  }

  async openStream(payloadId: string): Promise<{ bytes: number; stream: () => Readable } | undefined> {
    if (!isId('pay', payloadId)) return undefined
    try {
      const { ContentLength: bytes = 0 } = await this.#client.send(
        new HeadObjectCommand(this.#object(payloadId)),
        withinTime(),
      )
      return { bytes, stream: () => Readable.from(this.#ranges(payloadId), { objectMode: false }) }
    } catch (error) {
      if (isMissing(error)) return undefined
      throw notRead(plainFault(error))
    }
  }

  async collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number> {
    let removed = 0
    let looked = 0
    for (const last of lastCharacters) {
      // The ids in a folder are ordered by creation time. If one id is too recent, all later ids are too.
      for (let at = this.#seen.get(last) ?? '', isHeld = false; looked < keysMax;) {
        const { keys, isLastPage } = await this.#listOld(last, { after: at, olderThanMs })
        looked += keys.length
        for (let first = 0; first < keys.length; first += looksAtOnce) {
          const few = keys.slice(first, first + looksAtOnce)
          removed += (await Promise.all(few.map((key) => this.#removeOrphan(key, hasRow)))).filter(Boolean).length
        }
        // A payload that is not released yet may still become an orphan, so the next collection must list it again.
        isHeld ||= keys.some((key) => this.unsettled.has(idOf(key)))
        at = keys.at(-1) ?? at
        if (!isHeld) this.#seen.set(last, at)
        if (isLastPage) break
      }
    }
    return removed
  }

  async close(): Promise<void> {
    this.#client.destroy()
  }

  async #removeOrphan(key: string, hasRow: (payloadId: string) => Promise<boolean>): Promise<boolean> {
    const id = idOf(key)
    // Never delete objects that this service did not create.
    if (!isId('pay', id) || this.unsettled.has(id) || (await hasRow(id))) return false
    try {
      await this.#remove(key)
    } catch (error) {
      throw plainFault(error)
    }
    return true
  }

  async #listOld(
    last: string,
    { after, olderThanMs }: { after: string; olderThanMs: number },
  ): Promise<{ keys: string[]; isLastPage: boolean }> {
    const { bucket, prefix } = this.#bucket
    try {
      const page = await this.#client.send(
        new ListObjectsV2Command({
          Bucket: bucket,
          Prefix: `${prefix}${last}/`,
          MaxKeys: this.#pageKeys,
          ...(after !== '' && { StartAfter: after }),
        }),
        withinTime(),
      )
      const found = page.Contents ?? []
      // The bucket's own clock sets these times, so compare them with `Date.now()` and not with the injected clock.
      const isYoung = ({ LastModified: at }: { LastModified?: Date | undefined }) =>
        Date.now() - Number(at ?? Infinity) < olderThanMs
      const young = found.findIndex(isYoung)
      const old = young === -1 ? found : found.slice(0, young)
      return { keys: old.map(({ Key: key = '' }) => key), isLastPage: young !== -1 || page.IsTruncated !== true }
    } catch (error) {
      throw plainFault(error)
    }
  }

  /** Downloads the content range by range. The caller detects lost or truncated content by its digest. */
  async *#ranges(payloadId: string): AsyncGenerator<Buffer, void> {
    for (let at = 0, end = Infinity; at < end;) {
      let part: Buffer
      try {
        const last = Math.min(at + rangeBytesMax, end) - 1
        const got = await this.#client.send(
          new GetObjectCommand({ ...this.#object(payloadId), Range: `bytes=${at}-${last}` }),
          withinTime(),
        )
        end = Number(got.ContentRange?.split('/')[1] ?? got.ContentLength)
        part = Buffer.from(await got.Body!.transformToByteArray())
      } catch (error) {
        if (isMissing(error) || isOutOfRange(error)) throw new PayloadDamage(payloadId)
        throw notRead(plainFault(error))
      }
      if (part.length === 0) throw new PayloadDamage(payloadId)
      at += part.length
      yield part
    }
  }

  async #remove(key: string): Promise<void> {
    await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket.bucket, Key: key }), withinTime())
  }

  /**
   * The last character of an id is random, so writes are spread over 32 key prefixes. S3 limits the request rate per
   * prefix.
   */
  #object(payloadId: string): { Bucket: string; Key: string } {
    const { bucket, prefix } = this.#bucket
    return { Bucket: bucket, Key: `${prefix}${payloadId.slice(-1)}/${payloadId}.json` }
  }
}

function idOf(key: string): string {
  return /([^/]*)\.json$/.exec(key)?.[1] ?? ''
}

function withinTime(): { abortSignal: AbortSignal } {
  return { abortSignal: AbortSignal.timeout(requestTimeoutMs) }
}

const quiet = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }

export function newS3Client({ credentials, endpoint, hasPathStyle, region }: PayloadBucket): S3Client {
  // Self-hosted bucket services have no regions, but the SDK requires one.
  const given = region ?? (endpoint === undefined ? undefined : 'us-east-1')
  return new S3Client({
    ...(given !== undefined && { region: given }),
    ...(endpoint !== undefined && { endpoint }),
    ...(credentials && { credentials }),
    forcePathStyle: hasPathStyle,
    maxAttempts: triesMax,
    // Some services do not support these checksums. They are redundant, because writes are signed and reads are checked
    // against the digest.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    logger: quiet,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      socketTimeout: idleTimeoutMs,
      httpAgent: { keepAlive: true, maxSockets: connectionsMax },
      httpsAgent: { keepAlive: true, maxSockets: connectionsMax },
      logger: quiet,
    },
  })
}
