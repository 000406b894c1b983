import type { StoredJson } from './stored-json.ts'
import type { PayloadStore } from './payload-store.ts'

const previewCharsMax = 1024

/**
 * Stores JSON of more than `inlineBytes` bytes of UTF-8 as a payload. The row then stores only its first characters.
 */
export async function storeJson(
  json: string,
  { inlineBytes, payloads }: { inlineBytes: number; payloads: PayloadStore },
): Promise<StoredJson> {
  if (!isLarger(json, inlineBytes)) return { text: json, payloadId: null }
  const { digest, id } = await payloads.write(json)
  return { text: previewOf(json), payloadId: id, digest }
}

export function isLarger(json: string, bytes: number): boolean {
  // A UTF-16 unit is one to three bytes of UTF-8, so most strings need not be measured.
  if (json.length > bytes) return true
  return json.length * 3 > bytes && Buffer.byteLength(json) > bytes
}

/**
 * Returns the first 1,024 characters, without splitting one. For a JSON string, these are characters of its decoded
 * content; for any other value, of the JSON itself.
 */
export function previewOf(json: string): string {
  const start = json.slice(0, previewCharsMax * 12)
  const text = json.startsWith('"') ? decodeStart(start) : start
  let preview = ''
  let chars = 0
  for (const character of text) {
    if (chars++ === previewCharsMax) break
    preview += character
  }
  // Cutting `start` may have left half a character at its end.
  return preview.toWellFormed()
}

/** Decodes a JSON string that was cut anywhere, possibly inside an escape. */
function decodeStart(cut: string): string {
  for (let dropped = 0; dropped < 12; dropped++) {
    try {
      return JSON.parse(`${cut.slice(0, cut.length - dropped)}"`) as string
    } catch {
      continue
    }
  }
  return ''
}
