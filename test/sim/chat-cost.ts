// The price of a chat, worked out from a receipt alone and apart from the service's own code.

export type ChatReceipt = {
  promptTokens: number
  cachedPromptTokens: number
  completionTokens: number
  reasoningTokens: number
  toolCalls: number
  rates: Record<
    'inputPer1kUsd' | 'cachedInputPer1kUsd' | 'outputPer1kUsd' | 'reasoningPer1kUsd' | 'toolCallUsd',
    string
  >
  writtenOffUsd?: string
}

const billionthsPerUnit = 100_000n

/** Units of 0.0001 USD: the exact sum of the components, rounded once, half up. */
export function receiptCost(receipt: ChatReceipt): number {
  const { cachedPromptTokens, completionTokens, promptTokens, rates, reasoningTokens, toolCalls } = receipt
  const millionths = (text: string) => BigInt(Math.round(Number(text) * 1_000_000))
  const sum =
    BigInt(promptTokens - cachedPromptTokens) * millionths(rates.inputPer1kUsd) +
    BigInt(cachedPromptTokens) * millionths(rates.cachedInputPer1kUsd) +
    BigInt(completionTokens - reasoningTokens) * millionths(rates.outputPer1kUsd) +
    BigInt(reasoningTokens) * millionths(rates.reasoningPer1kUsd) +
    BigInt(toolCalls) * millionths(rates.toolCallUsd) * 1000n
  return Number((sum * 2n + billionthsPerUnit) / (billionthsPerUnit * 2n))
}

export function unitsOfUsd(usd: string): number {
  return Math.round(Number(usd) * 10_000)
}

export function usdOfUnits(units: number): string {
  return (units / 10_000).toFixed(4)
}
