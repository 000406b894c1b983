import { open, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { createReadStream, type ReadStream } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Clock } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { isId, newId } from '../kernel/ids.ts'

/** Where JSON that is too large for a row is kept; the local folder now, a bucket later. */
export type PayloadStore = {
  /** Durable when it resolves: the file and its folder are synced. The caller names the row, then calls `release`. */
  write(json: string): Promise<string>
  /** Ends the protection of a new payload: its row is committed, or (`discard`) never will be. */
  release(payloadId: string, discard?: boolean): Promise<void>
  read(payloadId: string): Promise<string>
  /** Undefined when there is none. The stream is not opened before it is read. */
  openStream(payloadId: string): Promise<{ bytes: number; stream: () => ReadStream } | undefined>
  /** Removes files that are older than `olderThanMs` and that no row names; returns how many. */
  collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number>
}

export class FilePayloadStore implements PayloadStore {
  readonly #root: string
  readonly #clock: Clock
  /** Written, but not yet named by a committed row. */
  readonly #unsettled = new Set<string>()
  readonly #syncedFolders = new Set<string>()

  constructor(root: string, clock: Clock) {
    this.#root = root
    this.#clock = clock
  }

  async write(json: string): Promise<string> {
    const id = newId('pay', this.#clock.now())
    this.#unsettled.add(id)
    try {
      const folder = this.#folder(id)
      await this.#makeFolder(folder)
      const partial = join(folder, `${id}.partial`)
      const file = await open(partial, 'wx', 0o600)
      try {
        await file.writeFile(json)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(partial, this.#file(id))
      await syncFolder(folder)
      return id
    } catch (error) {
      await this.release(id, true)
      throw new ErrandError('SERVICE_UNAVAILABLE', 'The payload could not be stored. Nothing was changed.', {
        retryAfterSeconds: 5,
        cause: error,
      })
    }
  }

  async release(payloadId: string, discard = false): Promise<void> {
    if (discard) {
      for (const file of [this.#file(payloadId), join(this.#folder(payloadId), `${payloadId}.partial`)]) {
        // What cannot be removed now is an orphan, which is collected later.
        await rm(file, { force: true }).catch(() => {})
      }
    }
    this.#unsettled.delete(payloadId)
  }

  read(payloadId: string): Promise<string> {
    return readFile(this.#file(payloadId), 'utf8')
  }

  async openStream(payloadId: string): Promise<{ bytes: number; stream: () => ReadStream } | undefined> {
    if (!isId('pay', payloadId)) return undefined
    const file = this.#file(payloadId)
    const found = await stat(file).catch(() => undefined)
    return found && { bytes: found.size, stream: () => createReadStream(file) }
  }

  async collectOrphans(olderThanMs: number, hasRow: (payloadId: string) => Promise<boolean>): Promise<number> {
    let removed = 0
    for (const name of await readdir(this.#root, { recursive: true }).catch(() => [])) {
      const path = join(this.#root, name)
      const id = /(pay_[0-9a-z]{26})\.(?:json|partial)$/.exec(name)?.[1]
      if (id === undefined || this.#unsettled.has(id)) continue
      const found = await stat(path).catch(() => undefined)
      // The file system's times and wall time, not the service's clock: files are stamped by the machine.
      if (!found || Date.now() - found.mtimeMs < olderThanMs) continue
      if (name.endsWith('.json') && (await hasRow(id))) continue
      await rm(path, { force: true })
      removed++
    }
    return removed
  }

  async #makeFolder(folder: string): Promise<void> {
    if (this.#syncedFolders.has(folder)) return
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await syncFolder(this.#root)
    await syncFolder(dirname(this.#root))
    this.#syncedFolders.add(folder)
  }

  /** The last two characters are random, so the files spread over a thousand folders. */
  #folder(id: string): string {
    return join(this.#root, id.slice(-2))
  }

  #file(id: string): string {
    return join(this.#folder(id), `${id}.json`)
  }
}

/** A file's name is durable only when its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
