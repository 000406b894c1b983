import type { SentMessage, SentPart } from '../../agents/run/chat-messages.ts'
import { balanceRefusal } from '../../billing/refusals.ts'
import { must } from '../../kernel/assert.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { FairPlaces, type Place } from '../../kernel/fair-places.ts'
import type { Logger } from '../../kernel/logger.ts'
import type { Units } from '../../kernel/money.ts'
import { digestOf } from '../../payloads/payload-digest.ts'
import type { PayloadStore } from '../../payloads/payload-store.ts'
import type { SignedLinks } from '../../payloads/signed-links.ts'
import { filesOf } from '../../store/sessions/session-records.ts'
import type { TurnFile, History, MessagePart, MessageFile } from '../../store/sessions/session-types.ts'
import type { Store } from '../../store/store.ts'
import { boundNow, type FileBounds } from '../../agents/files/file-tokens.ts'
import type { DraftFile, FileLimits, MessageDraft } from './message-draft.ts'
import type { EarlierDraft } from '../message-input.ts'

export type TurnFilesParts = {
  limits: FileLimits
  links: SignedLinks
  log: Logger
  payloads: PayloadStore
  store: Pick<Store, 'findPayload' | 'getAccount'>
}

export type StoredFiles = {
  files: readonly TurnFile[]
  /** The message as stored in its row (`parts`) and as sent to its agent (`sent`). Null if it has no files. */
  parts: readonly MessagePart[] | null
  sent: readonly SentPart[] | null
  earlier: readonly SentMessage[]
}

/**
 * Memory limit for the files of all messages and turns. Memory for a file is reserved before the file is read and
 * released when the turn ends. Each file is in memory once: in this thread until the agent's thread has received it,
 * then only there. The heap limit of agent threads does not cover file contents.
 */
const bytesMax = 512 * 1024 * 1024
const userBytesMax = 128 * 1024 * 1024

export const noFiles: StoredFiles = { files: [], parts: null, sent: null, earlier: [] }

type Keep = { draft: MessageDraft; earlier: readonly EarlierDraft[]; required: Units; userId: string }

export class TurnFiles {
  readonly #parts: TurnFilesParts
  readonly #places: FairPlaces

  constructor(parts: TurnFilesParts) {
    this.#parts = parts
    const perUser = Math.max(userBytesMax, parts.limits.messageFileBytesMax)
    this.#places = new FairPlaces({ perUser, total: Math.max(bytesMax, perUser) })
  }

  /**
   * Opens a memory reservation for the files of a message. The caller releases it when the turn ends or the message is
   * rejected.
   */
  place(userId: string): Place {
    return this.#places.open(userId)
  }

  /**
   * Stores the files of a message and of the earlier messages in its request, each file once. Throws if the balance is
   * too low. The rows that refer to the files are inserted when the turn is opened. Always call `ended` afterwards.
   */
  async keep({ draft, earlier, required, userId }: Keep): Promise<StoredFiles> {
    const drafts = [...earlier.map((message) => message.draft), draft]
    if (drafts.every(({ parts }) => !parts)) {
      return { ...noFiles, earlier: earlier.map(({ role, draft: { text } }) => ({ role, content: text })) }
    }
    const account = await this.#parts.store.getAccount(userId)
    // A rejected message must not cause file writes.
    if (account && account.balance < required) throw balanceRefusal({ ...account, required })
    const files: TurnFile[] = []
    try {
      const said: SentMessage[] = []
      for (const { role, draft: message } of earlier) {
        const { sent } = await this.#keepMessage(message, files)
        said.push({ role, content: message.text, ...(sent && { parts: sent }) })
      }
      return { files, earlier: said, ...(await this.#keepMessage(draft, files)) }
    } catch (error) {
      await this.ended(files)
      throw error
    }
  }

  async #keepMessage({ parts }: MessageDraft, files: TurnFile[]): Promise<Pick<StoredFiles, 'parts' | 'sent'>> {
    if (!parts) return { parts: null, sent: null }
    const kept: MessagePart[] = []
    const sent: SentPart[] = []
    for (const part of parts) {
      const [ofRow, ofAgent] = part.type === 'text' ? [part, part] : await this.#keepOne(part.file, files)
      kept.push(ofRow)
      sent.push(ofAgent)
    }
    return { parts: kept, sent }
  }

  async #keepOne(file: DraftFile, files: TurnFile[]): Promise<[MessagePart, SentPart]> {
    const { estimate, filename, mediaType, tokens, tokensMax } = file
    const content = must(file.content, 'a new message includes the content of its files')
    const { sha256 } = digestOf(content)
    let stored = files.find((earlier) => earlier.mediaType === mediaType && earlier.digest.sha256 === sha256)
    if (!stored) {
      stored = {
        ...(await this.#parts.payloads.write(content)),
        mediaType,
        filename: filename ?? null,
        tokens: estimate,
      }
      files.push(stored)
    }
    const { id: payloadId } = stored
    const told = {
      type: 'file',
      mediaType,
      ...(filename !== undefined && { filename }),
      bytes: content.length,
    } as const
    const counted = { tokens, tokensMax }
    const url = this.#parts.links.create(payloadId)
    return [
      { ...told, payloadId, ...counted },
      { ...told, url, data: content, ...counted },
    ]
  }

  /**
   * Returns the history with file contents. Reads the newest files first, until they and the files of this message
   * reach the limit for one message. Reads no contents for agents that receive URLs.
   */
  async ofHistory(
    messages: History['messages'],
    { chat, hasData, place }: { chat: FileBounds; hasData: boolean; place: Place },
  ): Promise<SentMessage[]> {
    let left = this.#parts.limits.messageFileBytesMax - place.amount
    const read = new Map<string, Buffer>()
    for (const { bytes, payloadId } of hasData ? messages.toReversed().flatMap(({ parts }) => filesOf(parts)) : []) {
      if (read.has(payloadId)) continue
      left -= bytes
      if (left < 0 || place.hold(place.amount + bytes)) break
      const content = await this.#read(payloadId)
      if (content) read.set(payloadId, content)
    }
    return messages.map(({ content, parts, role }) => {
      if (!parts) return { role, content }
      return {
        role,
        content,
        parts: parts.map((part) => (part.type === 'text' ? part : this.#sent(boundNow(part, chat), read))),
      }
    })
  }

  #sent({ payloadId, ...file }: { type: 'file' } & MessageFile, read: ReadonlyMap<string, Buffer>): SentPart {
    const data = read.get(payloadId)
    return { ...file, url: this.#parts.links.create(payloadId), ...(data && { data }) }
  }

  /** Returns undefined for a damaged or missing file, so that the conversation continues without it. */
  async #read(payloadId: string): Promise<Buffer | undefined> {
    const { log, payloads, store } = this.#parts
    const record = await store.findPayload(payloadId)
    try {
      return record && (await payloads.readBytes(payloadId, record.digest))
    } catch (error) {
      if (error instanceof ErrandError) throw error
      log.error({ err: error, payloadId }, 'could not read a file of a message; the agent continues without it')
      return undefined
    }
  }

  /** Called when the turn has ended or was not opened. Deletes files that no row refers to. Never rejects. */
  async ended(files: StoredFiles['files']): Promise<void> {
    const { log, payloads, store } = this.#parts
    for (const { id } of files) {
      try {
        await payloads.release(id, (await store.findPayload(id)) === undefined)
      } catch (error) {
        // The file may be an orphan now. The background job removes orphans later.
        await payloads.release(id)
        log.warn({ err: error, payloadId: id }, 'could not look up a file of a message')
      }
    }
  }
}
