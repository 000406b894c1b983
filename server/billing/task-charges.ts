import type { Units } from '../kernel/money.ts'
import { formatExact } from '../store/sessions/carried-cost.ts'
import type { StoredRates } from '../store/sessions/stored-rates.ts'
import type { StoredTaskTokens, TaskRecord } from '../store/tasks/task-types.ts'
import { chatCost, chatUse, joinRates, providerCostOf, type ChatRates, type ChatUsed } from './chat-price.ts'
import { chatRatesOf, storedUse } from './written-rates.ts'

type TokenUse = { used: ChatUsed; model: number; isEstimated: boolean }
type Costs = readonly (ChatRates | null)[] | null | undefined

const free: ChatRates = {
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

/** Returns the rates and the maximum for counting a task's tokens. Undefined if their number does not matter. */
export function termsOf({ cost, rates }: Pick<TaskRecord, 'cost' | 'rates'>, costs: Costs) {
  const known = rates ? rates.map(chatRatesOf) : costs?.map((of) => of ?? free)
  if (!known || known.length === 0) return undefined
  return { rates: joinRates(known as [ChatRates, ...ChatRates[]]), cap: rates ? cost : null }
}

type ChargeOf = { rates: readonly StoredRates[]; cap: Units; models: readonly string[] | undefined }

/** Returns the cost of a token-priced task: the exact sum rounded up, at most `cap`. */
export function chargeOf(
  { isEstimated, model, used }: TokenUse = nothing,
  { cap, models = [], rates }: ChargeOf,
): { cost: Units; used: StoredTaskTokens } {
  const exact = chatCost(used, chatRatesOf(rates[model] ?? rates[0]!))
  const id = models.length > 1 ? models[model] : undefined
  return {
    cost: Math.min(cap, exact.cost + (exact.remainder > 0 ? 1 : 0)),
    used: {
      ...storedUse(used),
      isEstimated,
      modelIndex: model,
      ...(id !== undefined && { model: id }),
      exactUsd: formatExact(exact),
    },
  }
}

/** Returns what the provider of the model that answered charges, in billionths of a USD. Null if it is not known. */
export function providerCostOfTask(tokens: TokenUse | undefined, costs: Costs): number | null {
  return tokens ? providerCostOf(tokens.used, costs?.[tokens.model] ?? null) : null
}
