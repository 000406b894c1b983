import type { z } from 'zod'
import type { Chat } from '../agents/config/catalogue.ts'
import { roughTokens } from '../agents/run/chat-messages.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import { badField } from '../kernel/errors.ts'
import { parseUsd, type Units } from '../kernel/money.ts'
import type { QuoteSubject } from '../quotes/quotes.ts'
import { jsonBytes, messageTextBytesMax } from '../store/byte-bounds.ts'
import type { ChatInput } from './chat-schema.ts'
// What a message asks for.

export function subjectOf(userId: string, { message, params, sessionId }: z.output<typeof ChatInput>): QuoteSubject {
  return { userId, hash: hashJson({ chat: { sessionId, message, params } }) }
}

export function maxCostOf({ maxCostUsd }: z.output<typeof ChatInput>): Units | null {
  return maxCostUsd === undefined ? null : parseUsd(maxCostUsd)!
}

export function leastOf(caps: readonly (Units | null)[]): Units | null {
  const given = caps.filter((cap) => cap !== null)
  return given.length === 0 ? null : Math.min(...given)
}

/** Longer ones take a tick of the event loop each, to be counted. */
export const largeMessageChars = 16 * 1024

export function checkSize(
  { contextTokens, maxOutputTokens }: Chat,
  { message, params }: z.output<typeof ChatInput>,
): void {
  if (jsonBytes(message) > messageTextBytesMax) {
    throw badField('message', `Is longer than the ${messageTextBytesMax} bytes of JSON that a message may have`)
  }
  if (roughTokens(message) > contextTokens) {
    throw badField('message', `Is longer than the ${contextTokens} tokens that this agent takes`)
  }
  if (params?.maxTokens !== undefined && params.maxTokens > maxOutputTokens) {
    throw badField('params.maxTokens', `Must be at most ${maxOutputTokens}`)
  }
}

export function given({ maxTokens, temperature }: NonNullable<z.output<typeof ChatInput>['params']>) {
  return { ...(temperature !== undefined && { temperature }), ...(maxTokens !== undefined && { maxTokens }) }
}
