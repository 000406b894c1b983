import type { StoredJson } from '../store/records.ts'
import type { PayloadStore } from './payload-store.ts'

const previewCharsMax = 1024

/** JSON of more than `inlineBytes` of UTF-8 is stored apart, and its first characters stand in the row instead. */
export async function storeJson(
  json: string,
  { inlineBytes, payloads }: { inlineBytes: number; payloads: PayloadStore },
): Promise<StoredJson> {
  if (!isLarger(json, inlineBytes)) return { text: json, payloadId: null }
  const { digest, id } = await payloads.write(json)
  return { text: previewOf(json), payloadId: id, digest }
}

export function isLarger(json: string, bytes: number): boolean {
  // A UTF-16 unit is one to three bytes of UTF-8, so most texts need not be measured.
  if (json.length > bytes) return true
  return json.length * 3 > bytes && Buffer.byteLength(json) > bytes
}

/** The first 1,024 characters, never half of one; of a JSON string its text, of anything else the JSON itself. */
export function previewOf(json: string): string {
  const start = json.slice(0, previewCharsMax * 12)
  const text = json.startsWith('"') ? decodeStart(start) : start
  let preview = ''
  let chars = 0
  for (const character of text) {
    if (chars++ === previewCharsMax) break
    preview += character
  }
  // The cut of `start` may have left half a character at the very end.
  return preview.toWellFormed()
}

/** The text of a JSON string that was cut somewhere, perhaps inside an escape. */
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
