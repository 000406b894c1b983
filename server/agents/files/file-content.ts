import { isUtf8 } from 'node:buffer'
import { imageTypes, readImage, type ImageSize } from './image-size.ts'
import { isImageType, isTextType } from './media-types.ts'

// Detects the type of a file from its bytes, regardless of the type its sender declared.

/** Magic bytes of types that have them, at offset `at` (default 0). */
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
/** Number of leading bytes in which PDF readers accept the start of the header. */
const pdfStartBytes = 1024

export type KnownContent = { mediaType: string; image?: ImageSize }

/** Describes how the content contradicts its declared type. Undefined if it does not. */
export function contentFault(mediaType: string, content: Buffer): string | undefined {
  const found = knownContent(content)
  if (isImageType(mediaType)) {
    if (!imageTypes.includes(mediaType))
      return `Must be one of ${imageTypes.join(', ')}: other image types are not supported`
    if (!found?.image) return `Is not an image of a supported type (${imageTypes.join(', ')})`
    return found.mediaType === mediaType ? undefined : `Contains ${found.mediaType}, not ${mediaType}`
  }
  if (mediaType === 'application/pdf' && found?.mediaType !== mediaType) return 'Is not a PDF file'
  if (isTextType(mediaType) && (!isUtf8(content) || content.includes(0))) {
    return `Must be UTF-8 text to have the type ${mediaType}`
  }
  const isOther = found !== undefined && found.mediaType !== mediaType && !areAlike(found.mediaType, mediaType)
  return isOther ? `Contains ${found.mediaType}, not ${mediaType}` : undefined
}

/** Detects the type from the bytes. Undefined if they do not reveal it. */
export function knownContent(content: Buffer): KnownContent | undefined {
  const image = readImage(content)
  if (image) return image
  if (content.subarray(0, pdfStartBytes).includes('%PDF-')) return { mediaType: 'application/pdf' }
  return signatures.find(({ at = 0, bytes }) =>
    content.subarray(at, at + bytes.length).equals(Buffer.from(bytes, 'latin1')),
  )
}

/** Whether both types are audio or video. Some of these share magic bytes, for example audio/mp4 and video/mp4. */
function areAlike(found: string, mediaType: string): boolean {
  const isMedia = (type: string) => /^(?:audio|video)\//.test(type)
  return isMedia(found) && isMedia(mediaType)
}
