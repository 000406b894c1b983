import type { LanguageModelMiddleware } from 'ai'
import { sumTokens, type FileSum, type FileTokens } from '../files/file-tokens.ts'
import { tokensAtMost } from './chat-messages.ts'

type CallOptions = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']

/** What providers write around each message, part and tool, and around the whole of a request, in tokens at most. */
const tokensAround = 16
const tokensAroundTools = 512
/** Around a file of a message, with its name. */
export const tokensAroundPart = 512

/**
 * How long a request is in bytes of its texts, how many tokens it may have besides, for what is around them, and what the
 * files of the messages count as.
 */
export type PromptSize = { bytes: number; around: number; files: FileSum }

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
  const counted: FileTokens[] = []
  for (const { content } of prompt) {
    if (typeof content === 'string') add(content)
    else
      for (const part of content) {
        const tokens = markedTokens(part)
        if (tokens) counted.push(tokens)
        else add(isPlainText(part) ? part.text : jsonOf(part))
      }
  }
  for (const tool of tools) add(jsonOf(tool))
  if (responseFormat?.type === 'json') add(jsonOf(responseFormat))
  return { bytes, around: around + counted.length * tokensAround, files: sumTokens(counted) }
}

type Part = Exclude<CallOptions['prompt'][number]['content'], string>[number]

/** The key of what the service tells itself with a file of a message: no provider reads it. */
const marked = 'errand'

/** What goes with a file of a message, so that it is known here what it counts as. */
export function markTokens({ tokens, tokensMax }: FileTokens) {
  return { [marked]: { tokens, tokensMax } }
}

function markedTokens(part: Part): FileTokens | undefined {
  return part.type === 'file' ? (part.providerOptions?.[marked] as FileTokens | undefined) : undefined
}

/** What a provider gave with a part, such as the signature of a thought, is sent back with it. */
function isPlainText(part: Part): part is Extract<Part, { type: 'text' }> {
  return part.type === 'text' && part.providerOptions === undefined
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (ArrayBuffer.isView(item) ? 'x'.repeat(item.byteLength) : item))
}
