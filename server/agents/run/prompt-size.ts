import type { LanguageModelMiddleware } from 'ai'
import { tokensAtMost } from './chat-messages.ts'

type CallOptions = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']

/** What providers write around each message, part and tool, and around the whole of a request, in tokens at most. */
const tokensAround = 16
const tokensAroundTools = 512

/** How long a request is in bytes of its texts, and how many tokens it may have besides, for what is around them. */
export type PromptSize = { bytes: number; around: number }

/** What a provider is sent of messages of these texts, in tokens at most. */
export function messagesAtMost(texts: readonly string[]): number {
  let tokens = tokensAround
  for (const text of texts) tokens += tokensAtMost(text) + tokensAround
  return tokens
}

/** The size of all that a provider is sent: instructions, messages, results, definitions of tools and of the output. */
export function promptSize({ prompt, responseFormat, tools = [] }: CallOptions): PromptSize {
  let bytes = 0
  let around = tokensAround + (tools.length > 0 ? tokensAroundTools : 0)
  const add = (text: string) => {
    bytes += tokensAtMost(text)
    around += tokensAround
  }
  for (const { content } of prompt) {
    if (typeof content === 'string') add(content)
    else for (const part of content) add(isPlainText(part) ? part.text : jsonOf(part))
  }
  for (const tool of tools) add(jsonOf(tool))
  if (responseFormat?.type === 'json') add(jsonOf(responseFormat))
  return { bytes, around }
}

type Part = Exclude<CallOptions['prompt'][number]['content'], string>[number]

/** What a provider gave with a part, such as the signature of a thought, is sent back with it. */
function isPlainText(part: Part): part is Extract<Part, { type: 'text' }> {
  return part.type === 'text' && part.providerOptions === undefined
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (ArrayBuffer.isView(item) ? 'x'.repeat(item.byteLength) : item))
}
