import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat, type FileHandle } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Clock } from '../kernel/clock.ts'
import { isId } from '../kernel/ids.ts'
import type { PayloadDigest } from './stored-json.ts'
import { assertWhole } from './payload-digest.ts'
import { NewPayloads, notStored, type PayloadContent, type PayloadStore } from './payload-store.ts'

/** Bytes per write. The event loop can serve other requests between two writes. */
const writeBytesMax = 1_048_576
const otherUsers = 0o077

/** Stores each payload as a file in the data directory. Every file and its folder are synced to disk. */
export class FilePayloadStore extends NewPayloads implements PayloadStore {
  readonly #root: string
  readonly #syncedFolders = new Set<string>()

  constructor(root: string, clock: Clock) {
    super(clock)
    this.#root = root
  }

  async writeAs(payloadId: string, content: PayloadContent): Promise<PayloadDigest> {
    try {
      const file = payloadFile(this.#root, payloadId)
      const folder = dirname(file)
      await this.#makeFolder(folder)
      const partial = join(folder, `${payloadId}.partial`)
      const handle = await open(partial, 'w', 0o600)
      let digest: PayloadDigest
      try {
        digest = await writeHashed(handle, typeof content === 'string' ? Buffer.from(content) : content)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await rename(partial, file)
      await syncFolder(folder)
      return digest
    } catch (error) {
      throw notStored(error)
    }
  }

  protected async discard(payloadId: string): Promise<void> {
    const file = payloadFile(this.#root, payloadId)
    await rm(file, { force: true })
    await rm(join(dirname(file), `${payloadId}.partial`), { force: true })
  }

  async read(payloadId: string, digest: PayloadDigest | null): Promise<string> {
    return (await this.readBytes(payloadId, digest)).toString()
  }

  async readBytes(payloadId: string, digest: PayloadDigest | null): Promise<Buffer> {
    const content = await readFile(payloadFile(this.#root, payloadId))
    if (digest) assertWhole(payloadId, content, digest)
    return content
  }

  async openStream(payloadId: string): Promise<{ bytes: number; stream: () => Readable } | undefined> {
    if (!isId('pay', payloadId)) return undefined
    const file = payloadFile(this.#root, payloadId)
    const found = await stat(file).catch(() => undefined)
    return found && { bytes: found.size, stream: () => createReadStream(file) }
  }

  async collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number> {
    let removed = 0
    for (const name of await readdir(this.#root, { recursive: true }).catch(() => [])) {
      const path = join(this.#root, name)
      const id = /(pay_[0-9a-z]{26})\.(?:json|partial)$/.exec(name)?.[1]
      if (id === undefined || this.unsettled.has(id)) continue
      const found = await stat(path).catch(() => undefined)
      if (!found) continue
      // A restored backup may have made the file readable by other users.
      if ((found.mode & otherUsers) !== 0) await chmod(path, 0o600).catch(() => {})
      // The system clock sets these times, so compare them with `Date.now()` and not with the injected clock.
      if (Date.now() - found.mtimeMs < olderThanMs) continue
      if (name.endsWith('.json') && (await hasRow(id))) continue
      await rm(path, { force: true })
      removed++
    }
    return removed
  }

  async close(): Promise<void> {}

  async #makeFolder(folder: string): Promise<void> {
    if (this.#syncedFolders.has(folder)) return
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await syncFolder(this.#root)
    await syncFolder(dirname(this.#root))
    this.#syncedFolders.add(folder)
  }
}

/** The last two characters of an id are random, so the files are spread evenly over about a thousand folders. */
export function payloadFile(root: string, payloadId: string): string {
  return join(root, payloadId.slice(-2), `${payloadId}.json`)
}

async function writeHashed(handle: FileHandle, content: Buffer): Promise<PayloadDigest> {
  const sha256 = createHash('sha256')
  for (let at = 0; at < content.length; at += writeBytesMax) {
    const part = content.subarray(at, at + writeBytesMax)
    sha256.update(part)
    await handle.writeFile(part)
  }
  return { bytes: content.length, sha256: sha256.digest('base64url') }
}

/** Syncs a folder to disk. Until then, new file names in it are not durable. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
