import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readLines } from '../../server/agents/http/http-lines.ts'

const bytesMax = 1024 * 1024

async function* each(chunks: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) yield Buffer.from(chunk as string)
}

async function collect(chunks: AsyncIterable<Buffer>): Promise<string[]> {
  const lines: string[] = []
  for await (const line of readLines(chunks, bytesMax)) lines.push(line)
  return lines
}

const linesOf = (chunks: readonly (string | Buffer)[]) => collect(each(chunks))

test('splits lines at LF or CRLF, skips blank lines, and needs no final newline', async () => {
  expect(await linesOf(['a\nb\r\n\n \r\n\r\nc'])).toEqual(['a', 'b', 'c'])
  expect(await linesOf(['a\n'])).toEqual(['a'])
  expect(await linesOf(['', '\n', ''])).toEqual([])
  expect(await linesOf([])).toEqual([])
})

test('reads any string correctly, regardless of how its bytes are split into chunks', async () => {
  const line = fc.string({ unit: 'binary' }).map((text) => text.replaceAll(/\s|\ufeff/gu, '_'))
  await fc.assert(
    fc.asyncProperty(
      fc.array(line),
      fc.constantFrom('\n', '\r\n'),
      fc.infiniteStream(fc.nat(5)),
      async (lines, end, cuts) => {
        const bytes = Buffer.from(lines.map((text) => text + end).join(''))
        const chunks: Buffer[] = []
        for (let at = 0; at < bytes.length;) {
          const size = cuts.next().value as number
          chunks.push(bytes.subarray(at, at + size))
          at += size
        }
        expect(await linesOf(chunks)).toEqual(lines.map((text) => text.toWellFormed()).filter((text) => text !== ''))
      },
    ),
  )
})

test('accepts a line of the maximum size and rejects one byte more', async () => {
  const full = 'x'.repeat(bytesMax)
  expect(await linesOf([`${full}\n${full}`])).toEqual([full, full])
  expect(await linesOf([full.slice(1), 'x', '\n', full])).toEqual([full, full])
  for (const chunks of [[`${full}x`], [full, 'x'], [`a\n${full}x\n`], ['x', full, '\n']]) {
    await expect(linesOf(chunks)).rejects.toThrow(
      "The agent's service sent a line of more than 1 MB. Split it into shorter lines.",
    )
  }
})

test('stops reading an endless line once it is too long', async () => {
  let read = 0
  async function* endless(): AsyncGenerator<Buffer> {
    for (;;) {
      read++
      yield Buffer.alloc(65_536, 'x')
    }
  }
  await expect(collect(endless())).rejects.toThrow('more than 1 MB')
  expect(read).toBe(bytesMax / 65_536 + 1)
})

test('reports invalid UTF-8 instead of replacing it', async () => {
  for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
    await expect(linesOf([Buffer.from(bytes), '\n'])).rejects.toThrow(
      "The agent's service sent a line that is not UTF-8. Encode its response in UTF-8.",
    )
    await expect(linesOf([Buffer.from(bytes)])).rejects.toThrow('not UTF-8')
  }
})
