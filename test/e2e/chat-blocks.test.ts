import { expect, test } from 'vitest'
import { splitBlocks } from '../../console/pages/chat/reply/markdown-blocks.ts'

const paragraph = 'A sentence that is about as long as sentences are. '.repeat(40)
const long = [
  paragraph,
  '',
  '1. First',
  '',
  '   with a paragraph of its own',
  '',
  '2. Second',
  '',
  paragraph,
  '',
  '```ts',
  'const a = 1',
  '',
  'const b = 2',
  '```',
  'After the code',
  '',
  '~~~~',
  'not ended',
].join('\n')

test('only the last two blocks change while Markdown is appended', () => {
  let before = splitBlocks('')
  for (let end = 1; end <= long.length; end++) {
    const blocks = splitBlocks(long.slice(0, end))
    const settled = Math.max(0, before.length - 2)
    expect(blocks.slice(0, settled), `after ${end} characters`).toEqual(before.slice(0, settled))
    before = blocks
  }
  expect(before.length).toBeGreaterThanOrEqual(5)
})

test('a code fence is a separate block with its language, even before the fence is closed', () => {
  const code = splitBlocks(long).filter(({ kind }) => kind === 'code')
  expect(code).toEqual([
    { kind: 'code', text: 'const a = 1\n\nconst b = 2', language: 'ts' },
    { kind: 'code', text: 'not ended', language: '' },
  ])
})

test('keeps a list in one block and loses no lines', () => {
  const blocks = splitBlocks(long)
  const list = blocks.find(({ text }) => text.includes('1. First'))
  expect(list?.text).toContain('2. Second')
  const lines = (text: string) => text.split('\n').filter((line) => line !== '' && !/^(?:```|~~~)/.test(line))
  expect(blocks.flatMap(({ text }) => lines(text))).toEqual(lines(long))
})

test('keeps Markdown with link definitions in one block, and shows it as plain text if too long', () => {
  const defined = `${paragraph}\n\nSee [the site].\n\n${paragraph}\n\n[the site]: https://example.com`
  expect(splitBlocks(defined)).toEqual([{ kind: 'markdown', text: defined }])
  expect(splitBlocks('*a_ '.repeat(10_000)).map(({ kind }) => kind)).toEqual(['plain'])
})
