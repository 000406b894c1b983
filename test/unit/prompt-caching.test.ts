import { expect, test } from 'vitest'
import type { ModelAgentConfig } from '../../server/agents/config/define-config.ts'
import { withCacheMarks } from '../../server/agents/model/prompt-caching.ts'

const prompt = [
  { role: 'system' as const, content: 'Be brief.' },
  { role: 'user' as const, content: [{ type: 'text' as const, text: 'Hello' }] },
  { role: 'assistant' as const, content: [{ type: 'text' as const, text: 'Hi' }] },
  { role: 'user' as const, content: [{ type: 'text' as const, text: 'Bye' }], providerOptions: { openai: { a: 1 } } },
]
const marked = (caching: ModelAgentConfig['caching']) =>
  withCacheMarks(prompt, { caching } as ModelAgentConfig).map(({ providerOptions }) => providerOptions)

test('marks the end of the instructions and the end of the prompt, and keeps other options', () => {
  const marks = { anthropic: { cacheControl: { type: 'ephemeral' } }, bedrock: { cachePoint: { type: 'default' } } }
  expect(marked(true)).toEqual([marks, undefined, undefined, { openai: { a: 1 }, ...marks }])
})

test('asks Anthropic for an hour', () => {
  expect(marked('1h')[0]).toMatchObject({ anthropic: { cacheControl: { type: 'ephemeral', ttl: '1h' } } })
})

test('marks nothing without caching', () => {
  expect(marked(false)).toEqual([undefined, undefined, undefined, { openai: { a: 1 } }])
  expect(marked(undefined)).toEqual(marked(false))
})
