import PQueue from 'p-queue'
import { ErrandError } from '../kernel/errors.ts'
import { codeOf } from '../kernel/thrown.ts'
import { FilePayloadStore } from '../payloads/file-payload-store.ts'
import { PayloadDamage } from '../payloads/payload-digest.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { CarriedRow } from '../store/carried-rows.ts'
import type { PayloadDigest } from '../store/records.ts'

const movesAtOnce = 4
/** A larger one is moved alone, since it is in memory as a whole. */
const largeBytes = 4_194_304

export type MovedPayloads = {
  count: number
  bytes: number
  damaged: string[]
  /** The first of the damaged that has a digest, so that nothing else is ever taken for it. */
  firstLost: string | undefined
}

export const payloadColumns = ['id', 'bytes', 'sha256'] as const

/**
 * Copies the payloads that those rows name, and reads each again where it went. One that has no file may be there
 * already, in a bucket that was in use before; one that is missing or no longer what was written is named.
 */
export async function movePayloads(
  rows: Iterable<CarriedRow[]>,
  { files, target }: { files: FilePayloadStore; target: PayloadStore },
): Promise<MovedPayloads> {
  const moved: MovedPayloads = { count: 0, bytes: 0, damaged: [], firstLost: undefined }
  const queue = new PQueue({ concurrency: movesAtOnce })
  let failure: unknown
  for (const batch of rows) {
    for (const [id, bytes, sha256] of batch as [string, number | null, string | null][]) {
      const digest = bytes === null || sha256 === null ? null : { bytes, sha256 }
      const isLarge = (bytes ?? Infinity) > largeBytes
      if (isLarge) await queue.onIdle()
      void queue.add(async () => {
        if (failure !== undefined) return
        try {
          const stored = await moveOne(id, digest, { files, target })
          if (!stored) {
            moved.damaged.push(id)
            if (digest && !(moved.firstLost !== undefined && moved.firstLost < id)) moved.firstLost = id
            return
          }
          moved.count++
          moved.bytes += stored
        } catch (error) {
          failure ??= error
        }
      })
      if (isLarge) await queue.onIdle()
      if (failure !== undefined) throw failure
    }
    await queue.onIdle()
    if (failure !== undefined) throw failure
  }
  moved.damaged.sort()
  return moved
}

/**
 * Nodes look for the first payloads that the database names, and take a place with none of them for the wrong one. So
 * one that is left behind has something in its place, which is not what was written and is given to nobody.
 */
export async function leaveStandIn(payloadId: string, target: PayloadStore): Promise<void> {
  if (!(await target.openStream(payloadId))) await target.writeAs(payloadId, 'lost before the move')
}

/** How many bytes it has; undefined when there is no whole one. */
async function moveOne(
  id: string,
  digest: PayloadDigest | null,
  { files, target }: { files: FilePayloadStore; target: PayloadStore },
): Promise<number | undefined> {
  try {
    const content = await readFile(files, { id, digest })
    const stored = content === undefined ? digest : await target.writeAs(id, content)
    return (await target.readBytes(id, stored)).length
  } catch (error) {
    if (error instanceof PayloadDamage) return undefined
    // What users are told of a place that cannot be reached does not say why.
    if (!(error instanceof ErrandError) || !(error.cause instanceof Error)) throw error
    const why = error.cause.message.replace(/\.$/, '')
    throw new Error(`The payload ${id} could not be moved: ${why}. Run this again.`, { cause: error })
  }
}

async function readFile(
  files: FilePayloadStore,
  { digest, id }: { id: string; digest: PayloadDigest | null },
): Promise<Buffer | undefined> {
  try {
    return await files.readBytes(id, digest)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}
