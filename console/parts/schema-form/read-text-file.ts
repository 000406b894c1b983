import { sizeText } from '../text/size-text.ts'

/** Bytes reserved for everything in a request except its params. */
export const envelopeBytes = 1024

/** Reads a file as text before anything is sent. If the file is unusable, returns the reason. */
export async function readTextFile(
  file: File,
  bytesMax: number | undefined,
): Promise<{ text: string } | { problem: string }> {
  const { name, size } = file
  const most = bytesMax === undefined ? Infinity : bytesMax - envelopeBytes
  const tooLarge = (bytes: string) => ({
    problem: `${name} is ${bytes}, but the maximum per run is ${sizeText(bytesMax ?? 0)}. Choose a smaller file.`,
  })
  if (size > most) return tooLarge(sizeText(size))
  const bytes = await file.arrayBuffer().catch(() => undefined)
  if (!bytes) return { problem: `Could not read ${name}. Choose a file, not a folder.` }
  const text = decodeText(bytes)
  if (text === undefined) {
    return {
      problem: `${name} is not UTF-8 text. Save it as plain text, Markdown, CSV or JSON in UTF-8 and try again.`,
    }
  }
  if (text.trim() === '') return { problem: `${name} is empty. Choose another file.` }
  const sent = bytesOf(text)
  if (sent > most) return tooLarge(`${sizeText(size)} (${sizeText(sent)} when sent)`)
  return { text }
}

export function bytesOf(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length
}

/** Returns undefined for invalid UTF-8, and for text with NUL characters, which occur in programs and images. */
function decodeText(bytes: ArrayBuffer): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}
