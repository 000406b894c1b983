import type { PayloadRecord } from '../../store/tasks/task-types.ts'
import { mkdir, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import PQueue from 'p-queue'
import { checkedChunks, PayloadDamage } from '../../payloads/payload-digest.ts'
import { FilePayloadStore, payloadFile } from '../../payloads/file-payload-store.ts'
import { SystemClock } from '../../kernel/clock.ts'
import { codeOf } from '../../kernel/thrown.ts'
import { payloadsIn } from '../../store/sqlite/inspect-database.ts'
import type { Store } from '../../store/store.ts'

const copiesAtOnce = 8

type Copy = { database: string; from: string; to: string }
/** Ids of payloads that the copied database references but the backup lacks. */
export type Lacking = { bad: string[]; deleted: string[] }

/**
 * Copies and verifies every payload that the copied database references. A missing or damaged payload is listed as
 * `bad`, or as `deleted` if `store` no longer has its row. The service deletes a payload's row before its file.
 */
export async function copyPayloads(
  store: Pick<Store, 'findPayload'> | undefined,
  { database, from, to }: Copy,
): Promise<Lacking & { copied: number }> {
  const queue = new PQueue({ concurrency: copiesAtOnce })
  const payloads = new FilePayloadStore(from, new SystemClock())
  const bad: string[] = []
  const deleted: string[] = []
  let copied = 0
  let failure: unknown
  for (const record of payloadsIn(database)) {
    void queue.add(async () => {
      try {
        if (await copyOne(payloads, { record, file: payloadFile(to, record.id) })) copied++
        else if (!store || (await store.findPayload(record.id))) bad.push(record.id)
        else deleted.push(record.id)
      } catch (error) {
        failure ??= error
      }
    })
    await queue.onSizeLessThan(copiesAtOnce)
    if (failure !== undefined) break
  }
  await queue.onIdle()
  if (failure !== undefined) throw failure
  return { copied, bad: bad.sort(), deleted: deleted.sort() }
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
    const isGone = codeOf(error) === 'ENOENT'
    if (!isGone && !(error instanceof PayloadDamage)) throw error
    await rm(file)
    return false
  } finally {
    await handle.close()
  }
}

export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
