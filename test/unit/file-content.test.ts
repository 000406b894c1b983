import { expect, test } from 'vitest'
import { contentFault, knownContent } from '../../server/agents/files/file-content.ts'
import { contentTokens } from '../../server/agents/files/content-tokens.ts'
import { fileTokens } from '../../server/agents/files/file-tokens.ts'
import { isAccepted } from '../../server/agents/files/media-types.ts'
import { countPages } from '../../server/agents/files/pdf-pages.ts'
import { jpeg, pdf, pdfOf, png } from '../support/sample-files.ts'
import { threadMs } from '../support/thread-time.ts'

const none = { imageTokensMax: undefined, documentTokensMax: undefined }

function gif(width: number, height: number): Buffer {
  const content = Buffer.alloc(20)
  content.write('GIF89a', 'latin1')
  content.writeUInt16LE(width, 6)
  content.writeUInt16LE(height, 8)
  return content
}

function webp(kind: 'VP8 ' | 'VP8L' | 'VP8X', width: number, height: number): Buffer {
  const content = Buffer.alloc(40)
  content.write(`RIFF\0\0\0\0WEBP${kind}`, 'latin1')
  if (kind === 'VP8X') {
    content.writeUIntLE(width - 1, 24, 3)
    content.writeUIntLE(height - 1, 27, 3)
  } else if (kind === 'VP8L') {
    content[20] = 0x2f
    content.writeUInt32LE(((height - 1) << 14) | (width - 1), 21)
  } else {
    content.write('\x9d\x01\x2a', 23, 'latin1')
    content.writeUInt16LE(width, 26)
    content.writeUInt16LE(height, 28)
  }
  return content
}

test('reads width and height from the header of every image format', () => {
  const images: [Buffer, string][] = [
    [png(640, 480), 'image/png'],
    [jpeg(640, 480), 'image/jpeg'],
    [gif(640, 480), 'image/gif'],
    [webp('VP8 ', 640, 480), 'image/webp'],
    [webp('VP8L', 640, 480), 'image/webp'],
    [webp('VP8X', 640, 480), 'image/webp'],
  ]
  for (const [content, mediaType] of images) {
    expect(knownContent(content)).toEqual({ mediaType, image: { width: 640, height: 480 } })
    expect(contentFault(mediaType, content)).toBeUndefined()
    // Truncated or random content must not throw; at worst it is not an image.
    for (let end = 0; end < content.length; end++) knownContent(content.subarray(0, end))
    for (let at = 0; at < Math.min(content.length, 60); at++) {
      const broken = Buffer.from(content)
      broken[at] = 0xff
      knownContent(broken)
    }
  }
  expect(contentFault('image/png', png(0, 480))).toMatch(/Must be an image/)
})

test('detects the content type from the bytes, regardless of the declared type', () => {
  expect(contentFault('image/png', jpeg())).toMatch(/the file is image\/jpeg/)
  expect(contentFault('image/bmp', png())).toMatch(/Must be one of/)
  expect(contentFault('application/pdf', pdf)).toBeUndefined()
  expect(contentFault('application/pdf', Buffer.from('PDF'))).toMatch(/Must be a PDF/)
  expect(contentFault('text/plain', Buffer.from('Grüße'))).toBeUndefined()
  expect(contentFault('text/plain', Buffer.from([0xc3, 0x28]))).toMatch(/UTF-8/)
  expect(contentFault('text/plain', Buffer.from('a\0b'))).toMatch(/UTF-8/)
  expect(contentFault('application/json', Buffer.from('{}'))).toBeUndefined()
  expect(contentFault('application/octet-stream', png())).toMatch(/the file is image\/png/)
  expect(contentFault('application/octet-stream', Buffer.from([1, 2, 3]))).toBeUndefined()
  expect(contentFault('audio/mp4', Buffer.from('\0\0\0\x18ftypM4A ', 'latin1'))).toBeUndefined()
  expect(contentFault('audio/mpeg', Buffer.from('\x7fELF', 'latin1'))).toMatch(/executable/)
})

function tokensOf(content: Buffer, mediaType: string, bounds: Parameters<typeof fileTokens>[1] = none) {
  const estimate = contentTokens({ content, mediaType })
  return fileTokens({ bytes: content.length, estimate, mediaType }, bounds)
}

test('counts image tokens by pixels, text tokens by bytes, and applies configured maximums', () => {
  const both = (tokens: number) => ({ tokens, tokensMax: tokens })
  expect(tokensOf(png(10, 10), 'image/png')).toEqual(both(1024))
  expect(tokensOf(png(1024, 1024), 'image/png')).toEqual(both(4096))
  expect(tokensOf(jpeg(20_000, 20_000), 'image/jpeg')).toEqual(both(16_384))
  expect(tokensOf(png(10, 10), 'image/png', { ...none, imageTokensMax: 85 })).toEqual(both(85))
  expect(tokensOf(Buffer.alloc(4000), 'text/plain', { ...none, documentTokensMax: 10 })).toEqual({
    tokens: 1000,
    tokensMax: 4000,
  })
  const documents = { ...none, documentTokensMax: 1500 }
  for (const mediaType of ['application/pdf', 'application/zip', 'audio/wav']) {
    expect(tokensOf(Buffer.alloc(4000), mediaType)).toEqual({ tokens: 1000, tokensMax: null })
    expect(tokensOf(Buffer.alloc(4000), mediaType, documents)).toEqual({ tokens: 1000, tokensMax: 1500 })
  }
})

test('estimates PDF tokens by visible pages, but sets no maximum', () => {
  const estimate = (content: Buffer) => tokensOf(content, 'application/pdf')
  expect(countPages(pdfOf(3))).toBe(3)
  expect(estimate(pdfOf(3))).toEqual({ tokens: 6000, tokensMax: null })
  for (const page of ['/Type/Page>>', '/Type \r\n/Page/Parent', '/Type  /Page ']) {
    expect(countPages(Buffer.from(page)), page).toBe(1)
  }
  for (const other of ['/Type/Pages', '/PageMode', '/Page', '/S /Page ', '/Type (x) /Page']) {
    expect(countPages(Buffer.from(other)), other).toBe(0)
  }
  expect(estimate(Buffer.from('%PDF-1.5 in compressed streams'))).toEqual({ tokens: 8, tokensMax: null })
  const many = pdfOf(5000)
  for (const hostile of [many, Buffer.from('/Page'.repeat(2_000_000)), Buffer.from('/Type '.repeat(1_000_000))]) {
    const before = threadMs()
    countPages(hostile)
    expect(threadMs() - before).toBeLessThan(100)
  }
})

test('accepts listed media types, wildcards such as image/*, or any type', () => {
  expect(isAccepted('image/png', ['image/*'])).toBe(true)
  expect(isAccepted('image/png', ['text/*', 'image/png'])).toBe(true)
  expect(isAccepted('imagery/png', ['image/*'])).toBe(false)
  expect(isAccepted('application/pdf', ['*/*'])).toBe(true)
  expect(isAccepted('application/pdf', [])).toBe(false)
})
