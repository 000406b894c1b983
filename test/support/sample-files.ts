import { crc32, deflateSync } from 'node:zlib'

// Realistic files, generated so that tests can break each of them in a specific way.

/** Returns a valid PNG of this size in one color. */
export function png(width = 64, height = 48, grey = 0x7f): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 0, 0, 0, 0], 8)
  const rows = Buffer.alloc((width + 1) * height, grey)
  for (let row = 0; row < height; row++) rows[row * (width + 1)] = 0
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, sum])
}

/** Returns a JPEG's headers, with another segment before the frame. The service examines nothing else. */
export function jpeg(width = 640, height = 480): Buffer {
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0])
  return Buffer.concat([Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 6, 1, 2, 3, 4]), frame, Buffer.from([0xff, 0xd9])])
}

export const pdf = Buffer.from('%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\n%%EOF\n')

export function pdfOf(pages: number): Buffer {
  const kids = Array.from({ length: pages }, (_, n) => `${n + 3} 0 R`).join(' ')
  const objects = Array.from({ length: pages }, (_, n) => `${n + 3} 0 obj\n<</Type /Page /Parent 2 0 R>>\nendobj\n`)
  return Buffer.from(
    `%PDF-1.4\n1 0 obj\n<</Type/Catalog /PageMode /UseNone /Pages 2 0 R>>\nendobj\n` +
      `2 0 obj\n<</Type/Pages /Count ${pages} /Kids [${kids}]>>\nendobj\n${objects.join('')}%%EOF\n`,
  )
}

type File = { filename?: string; mediaType?: string }

export function filePartOf(content: Buffer | string, { filename, mediaType = 'image/png' }: File = {}) {
  const data = Buffer.from(content).toString('base64')
  return { type: 'file', mediaType, data, ...(filename !== undefined && { filename }) } as const
}
