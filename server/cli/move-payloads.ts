import PQueue from 'p-queue'
import { ErrandError } from '../kernel/errors.ts'
import { codeOf } from '../kernel/thrown.ts'
import { FilePayloadStore } from '../payloads/file-payload-store.ts'
import { PayloadDamage } from '../payloads/payload-digest.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { CarriedRow } from '../store/carried-rows.ts'
import type { PayloadDigest } from '../payloads/stored-json.ts'

const movesAtOnce = 4
/** A larger payload is moved alone, because it is in memory completely. */
const largeBytes = 4_194_304

export type MovedPayloads = {
  count: number
  bytes: number
  damaged: string[]
  /** First damaged payload that has a digest, so that other content is never mistaken for it. */
  firstLost: string | undefined
}

export const payloadColumns = ['id', 'bytes', 'sha256'] as const

/**
 * Copies the payloads that rows refer to, and reads each back from the target. A payload without a file may already be
 * in the target, if that is a bucket that was in use before. Missing and changed payloads are listed.
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
 * Writes a stand-in for a payload that could not be moved. Nodes check that the first payloads in the database exist,
 * and otherwise assume that the store is the wrong one. The stand-in does not match the digest and is never served.
 */
export async function leaveStandIn(payloadId: string, target: PayloadStore): Promise<void> {
  if (!(await target.openStream(payloadId))) await target.writeAs(payloadId, 'lost before the move')
}

/** Returns the byte count of the payload; undefined if no intact copy exists. */
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
    // The user's error message for an unreachable store does not include the reason.
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
