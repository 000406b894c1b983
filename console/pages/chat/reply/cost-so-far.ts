import type { Agent } from '../../../../client/client.ts'
import { usdText } from '../../../parts/text/usd-text.ts'
import type { StoredExchange } from '../transcript/exchanges.ts'
import type { LiveExchange } from '../transcript/live-exchange.ts'

type Said = {
  pricing: NonNullable<Agent['chat']>['pricing']
  earlier: readonly StoredExchange[]
  exchange: LiveExchange
}

/** Average length of an English token in characters. */
const tokenChars = 4

/** Estimates the cost of a reply in progress from the text that has arrived. The service charges exact usage. */
export function costSoFar({ earlier, exchange, pricing }: Said): string {
  const { inputPerMillionUsd, outputPerMillionUsd, reasoningPerMillionUsd, toolCallUsd } = pricing
  let prompt = exchange.message?.length ?? 0
  for (const { message, reply } of earlier) prompt += (message?.content.length ?? 0) + (reply?.content.length ?? 0)
  let usd = (prompt / tokenChars) * perToken(inputPerMillionUsd)
  for (const part of exchange.parts) {
    if (part.kind === 'tool') usd += Number(toolCallUsd)
    else {
      const rate = part.kind === 'text' ? outputPerMillionUsd : reasoningPerMillionUsd
      usd += (part.text.length / tokenChars) * perToken(rate)
    }
  }
  return usdText(usd.toFixed(4))
}

function perToken(perMillionUsd: string): number {
  return Number(perMillionUsd) / 1e6
}
