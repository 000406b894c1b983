/** Rates per million tokens, in USD with at most six decimals. */
export type TokenPricing = {
  /** USD per million prompt tokens. */
  readonly inputPerMillionUsd: string
  /** USD per million output tokens. */
  readonly outputPerMillionUsd: string
  /** USD per million prompt tokens read from the provider's cache; the input rate by default. */
  readonly cacheReadPerMillionUsd?: string
  /** USD per million prompt tokens written to the provider's cache; the input rate by default. */
  readonly cacheWritePerMillionUsd?: string
  /** USD per million prompt tokens cached for one hour; the rate of other cache writes by default. */
  readonly cacheWrite1hPerMillionUsd?: string
  /** USD per million reasoning tokens; the output rate by default. If set, reasoning is not charged as output. */
  readonly reasoningPerMillionUsd?: string
}

/** Rates per 1,000 tokens, in USD with at most six decimals. */
export type Per1kPricing = {
  /** USD per 1,000 prompt tokens. */
  readonly inputPer1kUsd: string
  /** USD per 1,000 output tokens. */
  readonly outputPer1kUsd: string
  /** USD per 1,000 prompt tokens read from the provider's cache; the input rate by default. */
  readonly cachedInputPer1kUsd?: string
  /** USD per 1,000 reasoning tokens; the output rate by default. If set, reasoning is not charged as output. */
  readonly reasoningPer1kUsd?: string
}

type PricingFields = {
  /** USD per tool call; free by default. */
  readonly toolCallUsd?: string
  /**
   * Rates for all tokens of a model call with a long prompt. The highest of these rates must be at least the highest
   * rate for shorter prompts. Allowed only if the pricing has rates per million tokens.
   */
  readonly longContext?: LongContextPricing
}

export type LongContextPricing = TokenPricing & LongContextFields

type LongContextFields = {
  /** Prompt length in tokens above which these rates apply. */
  readonly aboveTokens: number
}

/** Price of a turn: rates per million or per 1,000 tokens, rates from a price list, or a markup on the cost. */
export type ChatPricing = ChatCost | MarkupPricing

/** Price that the model's provider charges the operator. */
export type ChatCost =
  | (TokenPricing & PricingFields)
  | (Per1kPricing & Omit<PricingFields, 'longContext'>)
  | (ListedPricing & Omit<PricingFields, 'longContext'>)

export type ListedPricing = {
  /** Rates that a price list contains for exactly this model. Set them with `fromPriceList`. */
  readonly priceList: { readonly model: string; readonly file: string }
}

export type MarkupPricing = {
  /** The agent's `cost` times `markup`. Set it with `costPlus`. */
  readonly costPlus: { readonly markup: string }
  /** USD per tool call; the cost of a tool call times `markup` by default. */
  readonly toolCallUsd?: string
}

/** Prices per event, for endpoints whose tasks differ in the amount of work. */
export type EventPricing = {
  /** Price of each event in USD, by the event name that is passed to `charge`; at most 32 events. */
  readonly events: { readonly [event: string]: string }
  /** Maximum price of a task. Charged when the task is created; the unused part is refunded when it completes. */
  readonly maxUsd: string
}

export type TokenTaskPricing = {
  /**
   * Rates in the same format as for a chat. The price of a task is the sum over its tokens, rounded up to 0.0001 USD.
   */
  readonly tokens: ChatPricing
  /**
   * Maximum price of a task. Charged when the task is created; the unused part is refunded when it completes. Each
   * model call is limited to the remaining amount. When it is used up, the task completes with the text so far.
   */
  readonly maxUsd: string
}

/**
 * Returns a reference to a model's rates in a price list: a file in the format of models.dev or LiteLLM, or a file
 * written by `errand prices import`. `file` is relative to the configuration file. The service reads the list at
 * startup and does not start if the list has no price for exactly this model.
 */
export function fromPriceList(model: string, { file = 'prices.json' }: { file?: string } = {}): ListedPricing {
  return { priceList: { model, file } }
}

/**
 * Sets an agent's price to its `cost` times `markup`, for example `'1.30'` for 30% above cost. Rates are rounded up.
 */
export function costPlus({ markup, toolCallUsd }: { markup: string; toolCallUsd?: string }): MarkupPricing {
  return { costPlus: { markup }, ...(toolCallUsd !== undefined && { toolCallUsd }) }
}
