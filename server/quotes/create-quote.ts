import type { z } from 'zod'
import type { Catalogue } from '../agents/config/catalogue.ts'
import { ratesByModel, type ChatRates } from '../billing/chat-price.ts'
import type { Caller } from '../procedures/caller.ts'
import type { ChatTurns } from '../chat/chat-turns.ts'
import { hashJson } from '../kernel/canonical-json.ts'
import { isoTime } from '../kernel/clock.ts'
import { ErrandError } from '../kernel/errors.ts'
import { formatUsd } from '../kernel/money.ts'
import { quoteTask } from '../tasks/check-task.ts'
import type { Store } from '../store/store.ts'
import type { RequestTrace } from '../kernel/tracing/request-trace.ts'
import type { Quote, QuoteInput } from './quote-schema.ts'
import type { Quotes } from '../billing/quotes.ts'

export type QuoteParts = { catalogue: Catalogue; chats: ChatTurns; quotes: Quotes; store: Store }
type QuoteRequest = {
  about: RequestTrace
  caller: Caller
  input: z.output<typeof QuoteInput>
  onLarge: () => Promise<void>
}

const versionChars = 16

/**
 * Quotes the current price of a task or chat. Throws the same errors as creating it, except for the balance and rate
 * limits. Writes nothing.
 */
export async function createQuote(
  { catalogue, chats, quotes, store }: QuoteParts,
  { about, caller, input: { chat, task }, onLarge }: QuoteRequest,
): Promise<Quote> {
  if (task) {
    const { expiresAt, meters, price, quoteId, rates } = await within(
      'task',
      quoteTask({ catalogue, quotes, store }, { caller, input: task, onLarge }),
    )
    const { endpointId } = task
    const priceUsd = formatUsd(price)
    const priceVersion = versionOf({
      endpointId,
      price,
      ...(meters && { meters }),
      ...(rates && versionedRates(rates)),
    })
    return { quoteId, priceUsd, worstCaseUsd: priceUsd, priceVersion, expiresAt: isoTime(expiresAt) }
  }
  const { agentId: newAgentId, connectorIds, continues, sessionId = '', ...message } = chat!
  const setting = newAgentId !== undefined && {
    agentId: newAgentId,
    connectorIds,
    continues,
    earlier: [],
    bodyHash: '',
  }
  const ask = { about, caller, input: { ...message, sessionId }, onLarge, ...(setting && { setting }) }
  const quoted = await within('chat', chats.quote(ask))
  const { agentId, expiresAt, hold, most, quoteId } = quoted
  return {
    quoteId,
    holdUsd: formatUsd(hold),
    ...(most !== null && { worstCaseUsd: formatUsd(most) }),
    priceVersion: versionOf({ agentId, ...versionedRates(quoted.rates) }),
    expiresAt: isoTime(expiresAt),
  }
}

/** Removes the price list version, which also changes when another model's price changes. */
function versionedRates(rates: ChatRates) {
  const [first, ...fallbacks] = ratesByModel(rates).map(({ listVersion: _, ...own }) => own)
  return { rates: first, ...(fallbacks.length > 0 && { fallbacks }) }
}

function versionOf(prices: object): string {
  return hashJson(prices).slice(0, versionChars)
}

/** Prefixes field paths in validation errors with `field`, because the input is nested in the quote's body. */
async function within<Value>(field: string, quoting: Promise<Value>): Promise<Value> {
  try {
    return await quoting
  } catch (error) {
    if (!(error instanceof ErrandError) || !error.details) throw error
    const details = error.details.map(({ message, path }) => ({ path: `${field}.${path}`, message }))
    throw new ErrandError(error.code, `${field}.${error.message}`, { details })
  }
}
