/** Token counts of a stored transaction. Cache writes are omitted if they are zero. */
export type StoredTokens = {
  promptTokens: number
  /** Part of `promptTokens` that the provider read from its prompt cache. */
  cachedPromptTokens: number
  /** Part of `promptTokens` that the provider wrote to its prompt cache. */
  cacheWriteTokens?: number
  /** Part of `cacheWriteTokens` that the provider keeps for an hour. */
  cacheWrite1hTokens?: number
  completionTokens: number
  reasoningTokens: number
}

export type StoredTokenRates = {
  inputPerMillionUsd: string
  cacheReadPerMillionUsd: string
  cacheWritePerMillionUsd: string
  cacheWrite1hPerMillionUsd: string
  outputPerMillionUsd: string
  reasoningPerMillionUsd: string
}
export type StoredRates = StoredTokenRates & {
  toolCallUsd: string
  longContext?: StoredTokenRates & { aboveTokens: number }
  priceListVersion?: string
}

/** `model` is the id of the agent's model that has these rates. */
export type StoredModelRates = StoredRates & { model?: string }

/** Rates on older receipts, per 1,000 tokens. */
export type EarlierRates = {
  inputPer1kUsd: string
  cachedInputPer1kUsd: string
  outputPer1kUsd: string
  reasoningPer1kUsd: string
  toolCallUsd: string
}
