import { isUtf8 } from 'node:buffer'
import { imageTypes, readImage, type ImageSize } from './image-size.ts'
import { isImageType, isTextType } from './media-types.ts'

// What the bytes of a file are, whatever its sender calls them.

/** How the contents of types begin that can be told by it; `at` is where, 0 where it is left out. */
const signatures: readonly { mediaType: string; bytes: string; at?: number }[] = [
  { mediaType: 'application/gzip', bytes: '\x1f\x8b' },
  { mediaType: 'application/x-executable', bytes: '\x7fELF' },
  { mediaType: 'application/vnd.microsoft.portable-executable', bytes: 'MZ\x90\x00' },
  { mediaType: 'audio/wav', bytes: 'WAVE', at: 8 },
  { mediaType: 'audio/mpeg', bytes: 'ID3' },
  { mediaType: 'audio/flac', bytes: 'fLaC' },
  { mediaType: 'video/mp4', bytes: 'ftyp', at: 4 },
  { mediaType: 'video/webm', bytes: '\x1a\x45\xdf\xa3' },
]
/** Readers of PDF look for it there. */
const pdfStartBytes = 1024

export type KnownContent = { mediaType: string; image?: ImageSize }

/** What is wrong with a content that is said to be of that type; undefined when nothing is. */
export function contentFault(mediaType: string, content: Buffer): string | undefined {
  const found = knownContent(content)
  if (isImageType(mediaType)) {
    if (!imageTypes.includes(mediaType)) return `Must be one of ${imageTypes.join(', ')}: no other image can be checked`
    if (!found?.image) return `Is no image: its bytes are none of ${imageTypes.join(', ')}`
    return found.mediaType === mediaType ? undefined : `Is ${found.mediaType} by its bytes, not ${mediaType}`
  }
  if (mediaType === 'application/pdf' && found?.mediaType !== mediaType) return 'Is no PDF by its bytes'
  if (isTextType(mediaType) && (!isUtf8(content) || content.includes(0))) {
    return `Is no text in UTF-8, as ${mediaType} must be`
  }
  const isOther = found !== undefined && found.mediaType !== mediaType && !areAlike(found.mediaType, mediaType)
  return isOther ? `Is ${found.mediaType} by its bytes, not ${mediaType}` : undefined
}

/** Undefined for what cannot be told by its bytes. */
export function knownContent(content: Buffer): KnownContent | undefined {
  const image = readImage(content)
  if (image) return image
  if (content.subarray(0, pdfStartBytes).includes('%PDF-')) return { mediaType: 'application/pdf' }
  return signatures.find(({ at = 0, bytes }) =>
    content.subarray(at, at + bytes.length).equals(Buffer.from(bytes, 'latin1')),
  )
}

/** Types of one family share their beginnings, as audio/mp4 and video/mp4 do; an image is none of them. */
function areAlike(found: string, mediaType: string): boolean {
  const isMedia = (type: string) => /^(?:audio|video)\//.test(type)
  return isMedia(found) && isMedia(mediaType)
}
