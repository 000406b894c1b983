import { ErrandClientError, filePart, type ChatInput } from '../../../../client/client.ts'
import type { AttachedFile } from '../compose/attached-files.ts'

/** Builds the message for a request. Throws if a file no longer exists. */
export async function messageOf(text: string, files: readonly AttachedFile[]): Promise<ChatInput['message']> {
  if (files.length === 0) return text
  const parts = await Promise.all(
    files.map(async ({ file, mediaType }) => {
      try {
        return await filePart(file, { mediaType })
      } catch {
        const message = `Could not read ${file.name}. Remove it and attach it again.`
        throw new ErrandClientError('INVALID_ARGUMENT', message)
      }
    }),
  )
  return text.trim() === '' ? parts : [...parts, { type: 'text', text }]
}

export function areSame(these: readonly AttachedFile[], those: readonly AttachedFile[]): boolean {
  return these.length === those.length && these.every(({ key }, index) => key === those[index]!.key)
}
