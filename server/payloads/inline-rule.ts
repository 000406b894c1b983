import type { StoredJson } from './stored-json.ts'
import type { PayloadStore } from './payload-store.ts'

const previewCharsMax = 1024

/** Stores JSON that exceeds `inlineBytes` bytes of UTF-8 as a payload. The row then contains only a preview. */
export async function storeJson(
  json: string,
  { inlineBytes, payloads }: { inlineBytes: number; payloads: PayloadStore },
): Promise<StoredJson> {
  if (!isLarger(json, inlineBytes)) return { text: json, payloadId: null }
  const { digest, id } = await payloads.write(json)
  return { text: previewOf(json), payloadId: id, digest }
}

export function isLarger(json: string, bytes: number): boolean {
  // Each UTF-16 code unit takes one to three bytes in UTF-8, so the length alone decides for most strings.
  if (json.length > bytes) return true
  return json.length * 3 > bytes && Buffer.byteLength(json) > bytes
}

/** Returns the first 1,024 characters. If the JSON is a string, decodes it first. */
export function previewOf(json: string): string {
  const start = json.slice(0, previewCharsMax * 12)
  const text = json.startsWith('"') ? decodeStart(start) : start
  let preview = ''
  let chars = 0
  for (const character of text) {
    if (chars++ === previewCharsMax) break
    preview += character
  }
  // `slice` may have cut a surrogate pair at the end. Replace the remaining half.
  return preview.toWellFormed()
}

/** Decodes the start of a JSON string that may end inside an escape sequence. */
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
