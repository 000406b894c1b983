/** Token counts as stored with a transaction. Fields of cache writes are absent if zero. */
export type StoredTokens = {
  promptTokens: number
  /** The part of `promptTokens` that the provider read from its cache. */
  cachedPromptTokens: number
  /** The part of `promptTokens` that the provider wrote to its cache. */
  cacheWriteTokens?: number
  /** The part of `cacheWriteTokens` that the provider keeps for an hour. */
  cacheWrite1hTokens?: number
  completionTokens: number
  reasoningTokens: number
}

/** USD per million tokens. */
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

/** Rates of one of the models that may answer; `model` is its id. */
export type StoredModelRates = StoredRates & { model?: string }

/** Rates on receipts that are older than rates per million tokens. */
export type EarlierRates = {
  inputPer1kUsd: string
  cachedInputPer1kUsd: string
  outputPer1kUsd: string
  reasoningPer1kUsd: string
  toolCallUsd: string
}
