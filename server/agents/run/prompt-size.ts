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

/** What a provider is sent of the definitions of an agent's own tools, in tokens at most. */
export function toolsAtMost(definitions: readonly object[]): number {
  if (definitions.length === 0) return 0
  let tokens = tokensAroundTools
  for (const definition of definitions) tokens += tokensAtMost(jsonOf(definition)) + tokensAround
  return tokens
}

/** What a provider is sent of messages of these texts, in tokens at most. */
export function messagesAtMost(texts: readonly string[]): number {
  let tokens = tokensAround
  for (const text of texts) tokens += tokensAtMost(text) + tokensAround
  return tokens
}

/** Texts of a request and the files of its messages. `earlier` of each, the first ones, were part of the request before the latest message. */
export type PromptTexts = {
  texts: readonly string[]
  files: readonly FileTokens[]
  hasTools: boolean
  earlier: { texts: number; files: number }
}

/**
 * Everything that a provider is sent: definitions of tools and of the output, instructions, messages and results. The
 * definitions come first, so that the next request of a conversation begins with the texts of the one before.
 */
export function promptTexts({ prompt, responseFormat, tools = [] }: CallOptions): PromptTexts {
  const texts = tools.map(jsonOf)
  if (responseFormat?.type === 'json') texts.push(jsonOf(responseFormat))
  const files: FileTokens[] = []
  let earlier = { texts: 0, files: 0 }
  let upToUser = earlier
  for (const { content, role } of prompt) {
    if (typeof content === 'string') texts.push(content)
    else
      for (const part of content) {
        const tokens = markedTokens(part)
        if (tokens) files.push(tokens)
        else texts.push(isPlainText(part) ? part.text : jsonOf(part))
      }
    if (role === 'user') [earlier, upToUser] = [upToUser, { texts: texts.length, files: files.length }]
  }
  return { texts, files, hasTools: tools.length > 0, earlier }
}

export function promptSize({ files, hasTools, texts }: PromptTexts): PromptSize {
  let bytes = 0
  for (const text of texts) bytes += tokensAtMost(text)
  const parts = texts.length + files.length
  const around = tokensAround * (parts + 1) + (hasTools ? tokensAroundTools : 0)
  return { bytes, around, files: sumTokens(files) }
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

/** A definition as it is counted, bytes in it as that many characters. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (ArrayBuffer.isView(item) ? 'x'.repeat(item.byteLength) : item))
}
