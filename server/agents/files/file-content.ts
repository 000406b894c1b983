import { isUtf8 } from 'node:buffer'
import { imageTypes, readImage, type ImageSize } from './image-size.ts'
import { isImageType, isTextType } from './media-types.ts'

// Detects a file's type from its content, regardless of the declared type.

/** Magic bytes by media type, at offset `at` (default 0). */
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
/** Number of bytes at the start of a file that PDF readers search for the header. */
const pdfStartBytes = 1024

export type KnownContent = { mediaType: string; image?: ImageSize }

/** Explains how the content contradicts the declared type. Returns undefined if it does not. */
export function contentFault(mediaType: string, content: Buffer): string | undefined {
  const found = knownContent(content)
  if (isImageType(mediaType)) {
    if (!imageTypes.includes(mediaType)) return `Must be one of the supported image types: ${imageTypes.join(', ')}`
    if (!found?.image) return `Must be an image of a supported type: ${imageTypes.join(', ')}`
    return found.mediaType === mediaType
      ? undefined
      : `Must have the type ${mediaType}, but the file is ${found.mediaType}`
  }
  if (mediaType === 'application/pdf' && found?.mediaType !== mediaType) return 'Must be a PDF file'
  if (isTextType(mediaType) && (!isUtf8(content) || content.includes(0))) {
    return `Must be UTF-8 text, as its type ${mediaType} requires`
  }
  const isOther = found !== undefined && found.mediaType !== mediaType && !areAlike(found.mediaType, mediaType)
  return isOther ? `Must have the type ${mediaType}, but the file is ${found.mediaType}` : undefined
}

export function knownContent(content: Buffer): KnownContent | undefined {
  const image = readImage(content)
  if (image) return image
  if (content.subarray(0, pdfStartBytes).includes('%PDF-')) return { mediaType: 'application/pdf' }
  return signatures.find(({ at = 0, bytes }) =>
    content.subarray(at, at + bytes.length).equals(Buffer.from(bytes, 'latin1')),
  )
}

/** Whether both types are audio or video. Some of these share magic bytes, such as audio/mp4 and video/mp4. */
function areAlike(found: string, mediaType: string): boolean {
  const isMedia = (type: string) => /^(?:audio|video)\//.test(type)
  return isMedia(found) && isMedia(mediaType)
}
