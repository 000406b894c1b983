import type { LanguageModelMiddleware } from 'ai'
import { expect, test } from 'vitest'
import { messagesAtMost, promptSize, promptTexts } from '../../server/agents/run/prompt-size.ts'

type Sent = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']

const sizeOf = (prompt: Sent['prompt']) => promptSize(promptTexts({ prompt })).bytes

test('counts provider options of reasoning and text parts toward the prompt', () => {
  const signature = 's'.repeat(10_000)
  const providerOptions = { provider: { signature } }
  for (const type of ['reasoning', 'text'] as const) {
    const bare = sizeOf([{ role: 'assistant', content: [{ type, text: 'So.' }] }])
    const signed = sizeOf([{ role: 'assistant', content: [{ type, text: 'So.', providerOptions }] }])
    expect(bare, type).toBeGreaterThanOrEqual(3)
    expect(signed - bare, type).toBeGreaterThanOrEqual(signature.length)
  }
})

test('computes the size of a conversation in advance, including per-message overhead', () => {
  const texts = ['You are terse.', ...Array.from({ length: 40 }, (_, n) => `Message ${n}, grüße`)]
  const [instructions = '', ...said] = texts
  const { around, bytes } = promptSize(
    promptTexts({
      prompt: [
        { role: 'system', content: instructions },
        ...said.map((text) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] })),
      ],
    }),
  )
  expect(messagesAtMost(texts)).toBe(bytes + around)
})
