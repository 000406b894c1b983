// Types of prices in the configuration file.

/** Rates per million tokens, in USD as decimals of at most six digits. */
export type TokenPricing = {
  /** Per million prompt tokens. */
  readonly inputPerMillionUsd: string
  /** Per million tokens that the model writes. */
  readonly outputPerMillionUsd: string
  /** Per million prompt tokens that the provider reads from its cache; the input rate by default. */
  readonly cacheReadPerMillionUsd?: string
  /** Per million prompt tokens that the provider writes to its cache; the input rate by default. */
  readonly cacheWritePerMillionUsd?: string
  /** Per million prompt tokens that the provider caches for an hour; the rate of other cache writes by default. */
  readonly cacheWrite1hPerMillionUsd?: string
  /** Per million reasoning tokens, which are then not charged as output; the output rate by default. */
  readonly reasoningPerMillionUsd?: string
}

/** Rates per 1,000 tokens, in USD as decimals of at most six digits. */
export type Per1kPricing = {
  /** Per thousand prompt tokens. */
  readonly inputPer1kUsd: string
  /** Per thousand tokens that the model writes. */
  readonly outputPer1kUsd: string
  /** Per thousand prompt tokens that the provider reads from its cache; the input rate by default. */
  readonly cachedInputPer1kUsd?: string
  /** Per thousand reasoning tokens, which are then not charged as output; the output rate by default. */
  readonly reasoningPer1kUsd?: string
}

type PricingFields = {
  /** Per tool call; free by default. */
  readonly toolCallUsd?: string
  /**
   * Rates of a model call with a long prompt, for all its tokens. The highest of them must not be below the highest
   * rates of shorter prompts. Only with rates per million tokens.
   */
  readonly longContext?: LongContextPricing
}

export type LongContextPricing = TokenPricing & LongContextFields

type LongContextFields = {
  /** The rates apply to prompts with more tokens than this. */
  readonly aboveTokens: number
}

/** Price of a chat: per million tokens, or per 1,000 tokens. */
export type ChatPricing = (TokenPricing & PricingFields) | (Per1kPricing & Omit<PricingFields, 'longContext'>)
