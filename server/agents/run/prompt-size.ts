import type { LanguageModelMiddleware } from 'ai'
import { sumTokens, type FileSum, type FileTokens } from '../files/file-tokens.ts'
import { tokensAtMost } from './chat-messages.ts'

type CallOptions = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']

/** Maximum number of tokens that providers add for each message, part and tool. */
const tokensAround = 16
const tokensAroundTools = 512
/** Maximum number of tokens that providers add for a file in a message, including its name. */
export const tokensAroundPart = 512

/**
 * Size of a request: the bytes of its strings, the maximum number of tokens that the provider adds, and the token
 * counts of its files.
 */
export type PromptSize = { bytes: number; around: number; files: FileSum }

export function toolsAtMost(definitions: readonly object[]): number {
  if (definitions.length === 0) return 0
  let tokens = tokensAroundTools
  for (const definition of definitions) tokens += tokensAtMost(jsonOf(definition)) + tokensAround
  return tokens
}

export function messagesAtMost(texts: readonly string[]): number {
  let tokens = tokensAround
  for (const text of texts) tokens += tokensAtMost(text) + tokensAround
  return tokens
}

/** The strings and files of a request. `earlier` counts those before the latest user message. */
export type PromptTexts = {
  texts: readonly string[]
  files: readonly FileTokens[]
  hasTools: boolean
  earlier: { texts: number; files: number }
}

/**
 * Collects everything that a request sends to the provider: tool definitions, the output schema, instructions, messages
 * and results. Definitions come first, so that each request of a conversation starts with the strings of the previous
 * one.
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

/** Key for the service's own data in a file's provider options. Providers ignore it. */
const marked = 'errand'

/** Returns provider options that attach a file's token counts to its message part. */
export function markTokens({ tokens, tokensMax }: FileTokens) {
  return { [marked]: { tokens, tokensMax } }
}

export function markedTokens(part: Part): FileTokens | undefined {
  return part.type === 'file' ? (part.providerOptions?.[marked] as FileTokens | undefined) : undefined
}

/**
 * Whether a part consists only of text. Provider options, such as a thought signature, are also sent and must be
 * counted.
 */
function isPlainText(part: Part): part is Extract<Part, { type: 'text' }> {
  return part.type === 'text' && part.providerOptions === undefined
}

/** Serializes a definition for counting. Binary data becomes one character per byte. */
export function jsonOf(value: unknown): string {
  return JSON.stringify(value, (_, item: unknown) => (ArrayBuffer.isView(item) ? 'x'.repeat(item.byteLength) : item))
}
