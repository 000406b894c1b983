import { expect, test } from 'vitest'
import { filePart } from '../../client/client.ts'
import { png } from '../support/sample-files.ts'

test('turns a File of any size into a part with name, type and bytes', async () => {
  for (const content of [png(), Buffer.alloc(100_001, 0xf3)]) {
    const file = new File([new Uint8Array(content)], 'a.png', { type: 'image/png' })
    expect(await filePart(file)).toEqual({
      type: 'file',
      mediaType: 'image/png',
      data: content.toString('base64'),
      filename: 'a.png',
    })
  }
})

test('a Blob has no name and needs a media type', async () => {
  const blob = new Blob(['Hello'])
  await expect(filePart(blob)).rejects.toThrow(/media type/)
  const given = { mediaType: 'text/plain', filename: 'hello.txt' }
  expect(await filePart(blob, given)).toEqual({ type: 'file', data: 'SGVsbG8=', ...given })
  expect(await filePart(blob, { mediaType: 'text/plain' })).not.toHaveProperty('filename')
})
