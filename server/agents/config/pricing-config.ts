// Prices in the configuration file.

/** Rates per million tokens, as USD amounts with at most six decimals. */
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

/** Rates per 1,000 tokens, as USD amounts with at most six decimals. */
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
   * Rates for all tokens of a model call with a long prompt. The highest of them must not be below the highest rates
   * for shorter prompts. Only with rates per million tokens.
   */
  readonly longContext?: LongContextPricing
}

export type LongContextPricing = TokenPricing & LongContextFields

type LongContextFields = {
  /** Prompt length, in tokens, above which these rates apply. */
  readonly aboveTokens: number
}

/** Price of a turn: rates per million or per 1,000 tokens, rates from a price list, or a markup on the cost. */
export type ChatPricing = ChatCost | MarkupPricing

/** Price that the chat model's provider charges the operator. */
export type ChatCost =
  | (TokenPricing & PricingFields)
  | (Per1kPricing & Omit<PricingFields, 'longContext'>)
  | (ListedPricing & Omit<PricingFields, 'longContext'>)

export type ListedPricing = {
  /** Rates of exactly this model in a price list. Use `fromPriceList`. */
  readonly priceList: { readonly model: string; readonly file: string }
}

export type MarkupPricing = {
  /** The agent's `cost` times `markup`. Use `costPlus`. */
  readonly costPlus: { readonly markup: string }
  /** Per tool call; `cost` times `markup` by default. */
  readonly toolCallUsd?: string
}

/** Prices per event, for an endpoint whose tasks differ in the amount of work. */
export type EventPricing = {
  /** Price per event in USD, by event name; at most 32 events. `charge` takes these names. */
  readonly events: { readonly [event: string]: string }
  /** The maximum price of a task. Charged when the task is created; the unused part is refunded when it completes. */
  readonly maxUsd: string
}

/** Prices of the tokens that a task uses. */
export type TokenTaskPricing = {
  /** Rates, as for a chat. The cost of a task is the sum of its tokens, rounded up to 0.0001 USD. */
  readonly tokens: ChatPricing
  /**
   * The maximum price of a task. Charged when the task is created; the unused part is refunded when it completes. Each
   * model call is limited to the remaining amount. When that is used up, the task completes with the text so far.
   */
  readonly maxUsd: string
}

/**
 * Rates of a model in a price list: a file in the format of models.dev or LiteLLM, or written by `errand prices
 * import`. The path is relative to the configuration file, `prices.json` by default. The service reads the list when it
 * starts, and does not start if the list has no price for exactly this model.
 */
export function fromPriceList(model: string, { file = 'prices.json' }: { file?: string } = {}): ListedPricing {
  return { priceList: { model, file } }
}

/** Prices an agent at its `cost` times `markup`, such as `'1.30'` for 30 % above cost. Rates are rounded up. */
export function costPlus({ markup, toolCallUsd }: { markup: string; toolCallUsd?: string }): MarkupPricing {
  return { costPlus: { markup }, ...(toolCallUsd !== undefined && { toolCallUsd }) }
}
