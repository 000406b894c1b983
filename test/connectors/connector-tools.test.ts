import { expect, test } from 'vitest'
import { connectorTools } from '../../server/agents/run/connector-tools.ts'
import { noConnectors } from '../../server/connectors/thread/run-connectors.ts'

const look = { name: 'look', connectorId: 'con_1', connectorName: 'Eyes', description: '', inputSchema: {} }

/** Returns the part of a tool's result that a model sees. */
async function read(output: object): Promise<unknown> {
  const { look: tool } = await connectorTools({ ...noConnectors, tools: [look] })
  return await tool!.toModelOutput!({ toolCallId: 'a', input: {}, output })
}

test('a model receives text as is, but of images and files only the size', async () => {
  const text = { type: 'text', text: 'A cat.' }
  expect(await read({ content: [text, text], isError: false })).toEqual({ type: 'text', value: 'A cat.\nA cat.' })
  const image = { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' }
  const file = { type: 'resource', resource: { uri: 'file:///a', blob: 'aGVsbG8=' } }
  expect(await read({ content: [text, image, file], isError: false })).toEqual({
    type: 'json',
    value: [
      text,
      { ...image, data: '(8 characters of base64)' },
      { ...file, resource: { uri: 'file:///a', blob: '(8 characters of base64)' } },
    ],
  })
})

test('a model sees tool errors, and structured content if there is no other content', async () => {
  const content = [{ type: 'text', text: 'No such file.' }]
  expect(await read({ content, isError: true })).toEqual({ type: 'error-text', value: 'No such file.' })
  expect(await read({ content: [], structuredContent: { data: 1 }, isError: false })).toEqual({
    type: 'json',
    value: { data: 1 },
  })
})
