// Reads an image's dimensions from the file header without decoding the image. Supports the types that models accept.

export type ImageSize = { width: number; height: number }
type Image = { mediaType: string; image: ImageSize }
type Reader = (content: Buffer) => ImageSize | undefined

const readers: Record<string, Reader> = {
  'image/png': readPng,
  'image/jpeg': readJpeg,
  'image/gif': readGif,
  'image/webp': readWebp,
}

export const imageTypes: readonly string[] = Object.keys(readers)

export function readImage(content: Buffer): Image | undefined {
  for (const [mediaType, read] of Object.entries(readers)) {
    const image = read(content)
    if (image && image.width > 0 && image.height > 0) return { mediaType, image }
  }
  return undefined
}

function startsWith(content: Buffer, bytes: string, at = 0): boolean {
  return content.subarray(at, at + bytes.length).equals(Buffer.from(bytes, 'latin1'))
}

function readPng(content: Buffer): ImageSize | undefined {
  if (content.length < 33 || !startsWith(content, '\x89PNG\r\n\x1a\n') || !startsWith(content, 'IHDR', 12))
    return undefined
  return { width: content.readUInt32BE(16), height: content.readUInt32BE(20) }
}

function readGif(content: Buffer): ImageSize | undefined {
  if (content.length < 13 || !(startsWith(content, 'GIF87a') || startsWith(content, 'GIF89a'))) return undefined
  return { width: content.readUInt16LE(6), height: content.readUInt16LE(8) }
}

function readJpeg(content: Buffer): ImageSize | undefined {
  if (!startsWith(content, '\xff\xd8\xff')) return undefined
  for (let at = 2; at + 9 <= content.length;) {
    if (content[at] !== 0xff) return undefined
    const marker = content[at + 1]!
    if (marker === 0xff) at++
    else if (isFrame(marker)) return { width: content.readUInt16BE(at + 7), height: content.readUInt16BE(at + 5) }
    // Image data begins here, so the frame header is missing.
    else if (marker === 0xda) return undefined
    else at += 2 + Math.max(2, content.readUInt16BE(at + 2))
  }
  return undefined
}

/** Whether the marker starts a frame (SOF0 to SOF15). Three codes in that range have other meanings. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
}

function readWebp(content: Buffer): ImageSize | undefined {
  if (content.length < 30 || !startsWith(content, 'RIFF') || !startsWith(content, 'WEBP', 8)) return undefined
  if (startsWith(content, 'VP8X', 12)) {
    return { width: content.readUIntLE(24, 3) + 1, height: content.readUIntLE(27, 3) + 1 }
  }
  if (startsWith(content, 'VP8L', 12) && content[20] === 0x2f) {
    const bits = content.readUInt32LE(21)
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
  }
  if (startsWith(content, 'VP8 ', 12) && startsWith(content, '\x9d\x01\x2a', 23)) {
    return { width: content.readUInt16LE(26) & 0x3fff, height: content.readUInt16LE(28) & 0x3fff }
  }
  return undefined
}
