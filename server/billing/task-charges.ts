import type { Units } from '../kernel/money.ts'
import { formatExact } from '../store/sessions/carried-cost.ts'
import type { StoredModelRates } from '../store/sessions/stored-rates.ts'
import type { StoredTaskTokens, TaskRecord } from '../store/tasks/task-types.ts'
import {
  chatCost,
  chatUse,
  joinRates,
  providerCostOf,
  ratesForModels,
  type ChatRates,
  type ChatUsed,
} from './chat-price.ts'
import { chatRatesOf, storedUse } from './written-rates.ts'

type TokenUse = { used: ChatUsed; model: number; isEstimated: boolean }
type Costs = readonly (ChatRates | null)[] | null | undefined

/** Largest plausible token count of a single call. */
const tokensMax = 1_000_000_000

export function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= tokensMax
}

export const freeRates: ChatRates = {
  input: 0,
  cacheRead: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  output: 0,
  reasoning: 0,
  toolCall: 0,
  longContext: null,
}
const nothing: TokenUse = { used: chatUse({}), model: 0, isEstimated: false }

type Models = { modelIds: readonly (string | null)[]; costs: Costs }

/** Returns the rates and cap for counting a task's tokens, or undefined if there is no need to count them. */
export function termsOf({ cost, rates }: Pick<TaskRecord, 'cost' | 'rates'>, { costs, modelIds }: Models) {
  const known = rates ? rates.map(chatRatesOf) : costs?.map((of) => of ?? freeRates)
  if (!known || known.length === 0) return undefined
  const joined = joinRates(known as [ChatRates, ...ChatRates[]])
  return rates ? { rates: ratesForModels(joined, modelIds), cap: cost } : { rates: joined, cap: null }
}

type ChargeOf = { rates: readonly StoredModelRates[]; cap: Units; models: readonly (string | null)[] | undefined }

/** Returns the cost of a token-priced task, rounded up and limited to `cap`. */
export function chargeOf(
  { isEstimated, model, used: claimed }: TokenUse = nothing,
  { cap, models = [], rates }: ChargeOf,
): { cost: Units; used: StoredTaskTokens } {
  const used = countable(claimed)
  const at = Math.max(
    0,
    rates.findIndex((one) => one.model === models[model]),
  )
  const exact = chatCost(used, chatRatesOf(rates[at]!))
  const id = models.length > 1 ? models[model] : undefined
  return {
    cost: Math.min(cap, exact.cost + (exact.remainder > 0 ? 1 : 0)),
    used: {
      ...storedUse(used),
      isEstimated,
      modelIndex: at,
      ...(id && { model: id }),
      exactUsd: formatExact(exact),
    },
  }
}

export function providerCostOfTask(tokens: TokenUse | undefined, costs: Costs): number | null {
  return tokens ? providerCostOf(countable(tokens.used), costs?.[tokens.model] ?? null) : null
}

/** Returns zero usage if the agent's thread reports an impossible count. */
function countable(used: ChatUsed): ChatUsed {
  const { longContext, ...whole } = used
  const parts = longContext ? [whole, longContext] : [whole]
  return parts.every((part) => Object.values(part).every(isCount)) ? used : chatUse({})
}
