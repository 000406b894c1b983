import { ErrandClientError, filePart, type ChatInput, type Message } from '../../../../client/client.ts'
import type { AttachedFile } from '../compose/attached-files.ts'

type StoredFile = { type: 'file'; payloadId: string }

/** The session's last exchange, if a new message replaces it. `isSame` is true if both messages have the same text. */
export type Replaced = { turnId: string; files: readonly StoredFile[]; isSame: boolean }

export function replacedBy({ content, parts = [], turnId }: Message, text: string): Replaced {
  const files = parts.flatMap((part) =>
    part.type === 'file' ? [{ type: 'file' as const, payloadId: part.payloadId }] : [],
  )
  return { turnId, files, isSame: text === content }
}

/** Builds the message for a request. Throws if a file no longer exists. */
export async function messageOf(
  text: string,
  files: readonly AttachedFile[],
  stored: readonly StoredFile[] = [],
): Promise<ChatInput['message']> {
  if (files.length + stored.length === 0) return text
  const added = await Promise.all(
    files.map(async ({ file, mediaType }) => {
      try {
        return await filePart(file, { mediaType })
      } catch {
        const message = `Could not read ${file.name}. Remove it and attach it again.`
        throw new ErrandClientError('INVALID_ARGUMENT', message)
      }
    }),
  )
  const parts = [...stored, ...added]
  return text.trim() === '' ? parts : [...parts, { type: 'text', text }]
}

export function areSame(these: readonly AttachedFile[], those: readonly AttachedFile[]): boolean {
  return these.length === those.length && these.every(({ key }, index) => key === those[index]!.key)
}
