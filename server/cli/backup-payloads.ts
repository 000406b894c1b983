import type { PayloadRecord } from '../store/tasks/task-types.ts'
import { mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import PQueue from 'p-queue'
import { checkedChunks, PayloadDamage } from '../payloads/payload-digest.ts'
import { FilePayloadStore, payloadFile } from '../payloads/file-payload-store.ts'
import { SystemClock } from '../kernel/clock.ts'
import type { Store } from '../store/store.ts'

const copiesAtOnce = 8
const pageRows = 500

type Copy = { from: string; to: string }

/**
 * Copies every payload that the store refers to, and verifies each one. Call it after the database is copied. All
 * payloads of that copy are then in `from`: a file is written before its row, and removed only when no row refers to
 * it. Returns the ids of missing or damaged payloads.
 */
export async function copyPayloads(store: Store, { from, to }: Copy): Promise<{ copied: number; bad: string[] }> {
  const queue = new PQueue({ concurrency: copiesAtOnce })
  const payloads = new FilePayloadStore(from, new SystemClock())
  const bad: string[] = []
  let copied = 0
  let failure: unknown
  let afterId = ''
  for (;;) {
    const page = await store.listPayloads({ afterId, limit: pageRows })
    for (const record of page) {
      afterId = record.id
      void queue.add(async () => {
        try {
          if (failure !== undefined) return
          if (await copyOne(payloads, { record, file: payloadFile(to, record.id) })) copied++
          else bad.push(record.id)
        } catch (error) {
          failure ??= error
        }
      })
    }
    await queue.onIdle()
    if (failure !== undefined) throw failure
    if (page.length < pageRows) return { copied, bad: bad.sort() }
  }
}

async function copyOne(
  payloads: FilePayloadStore,
  { record, file }: { record: PayloadRecord; file: string },
): Promise<boolean> {
  const { digest, id } = record
  const found = await payloads.openStream(id)
  if (!found) return false
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const handle = await open(file, 'wx', 0o600)
  try {
    for await (const chunk of checkedChunks(found.stream(), { payloadId: id, digest })) await handle.writeFile(chunk)
    await handle.sync()
    return true
  } catch (error) {
    if (!(error instanceof PayloadDamage)) throw error
    await rm(file)
    return false
  } finally {
    await handle.close()
  }
}
