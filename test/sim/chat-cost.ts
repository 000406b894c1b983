// Chat prices computed from a receipt alone, independently of the service's code.

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
  exactUsd?: string
  carriedBeforeUsd?: string
  carriedAfterUsd?: string
  writtenOffUsd?: string
}

const billionthsPerUnit = 100_000n

/** Cost in units of 0.0001 USD: the exact sum of the components and the carried remainder, rounded down once. */
export function receiptCost(receipt: ChatReceipt): number {
  return Number((exactCost(receipt) + billionthsOf(receipt.carriedBeforeUsd)) / billionthsPerUnit)
}

/** The remainder that the account carries forward, in billionths of a USD. */
export function carriedOn(receipt: ChatReceipt): bigint {
  return (exactCost(receipt) + billionthsOf(receipt.carriedBeforeUsd)) % billionthsPerUnit
}

export function billionthsOf(usd = '0'): bigint {
  return BigInt(usd.replace('.', ''))
}

export function exactCost(receipt: ChatReceipt): bigint {
  const { cachedPromptTokens, completionTokens, promptTokens, rates, reasoningTokens, toolCalls } = receipt
  const millionths = (text: string) => BigInt(Math.round(Number(text) * 1_000_000))
  return (
    BigInt(promptTokens - cachedPromptTokens) * millionths(rates.inputPer1kUsd) +
    BigInt(cachedPromptTokens) * millionths(rates.cachedInputPer1kUsd) +
    BigInt(completionTokens - reasoningTokens) * millionths(rates.outputPer1kUsd) +
    BigInt(reasoningTokens) * millionths(rates.reasoningPer1kUsd) +
    BigInt(toolCalls) * millionths(rates.toolCallUsd) * 1000n
  )
}

export function unitsOfUsd(usd: string): number {
  return Math.round(Number(usd) * 10_000)
}

export function usdOfUnits(units: number): string {
  return (units / 10_000).toFixed(4)
}
