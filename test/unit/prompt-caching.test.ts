import { expect, test } from 'vitest'
import type { ModelAgentConfig } from '../../server/agents/config/define-config.ts'
import { cacheMarks } from '../../server/agents/model/prompt-caching.ts'

const prompt = [
  { role: 'system' as const, content: 'Be brief.' },
  { role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] },
  { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Hi' }] },
  { role: 'user' as const, content: [{ type: 'text' as const, text: 'Bye' }], providerOptions: { openai: { a: 1 } } },
]
async function marked(caching: ModelAgentConfig['caching']) {
  const { transformParams } = cacheMarks({ caching } as ModelAgentConfig)
  const params = await transformParams!({ type: 'stream', params: { prompt }, model: {} as never })
  return params.prompt.map(({ providerOptions }) => providerOptions)
}

test('marks the end of the instructions and the end of the prompt, and keeps other options', async () => {
  const marks = { anthropic: { cacheControl: { type: 'ephemeral' } }, bedrock: { cachePoint: { type: 'default' } } }
  expect(await marked(true)).toEqual([marks, undefined, undefined, { openai: { a: 1 }, ...marks }])
})

test('asks Anthropic for an hour', async () => {
  expect((await marked('1h'))[0]).toMatchObject({ anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } })
})

test('marks nothing without caching', async () => {
  expect(await marked(false)).toEqual([undefined, undefined, undefined, { openai: { a: 1 } }])
  expect(await marked(undefined)).toEqual(await marked(false))
})
