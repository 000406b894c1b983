import type { Chat } from '../agents/config/catalogue.ts'
import { highestRates, providerCostOf, ratesByModel, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import { storedRates } from '../billing/written-rates.ts'
import type { ChatBreakdown } from '../store/sessions/session-types.ts'

/** The model that answers a turn, and its rates. */
export class AnsweringModel {
  readonly #rates: readonly ChatRates[]
  readonly #highest: ChatRates
  readonly #models: Chat['models']
  /** Undefined until a model has started to answer. */
  #index: number | undefined

  constructor(rates: ChatRates, models: Chat['models']) {
    this.#rates = ratesByModel(rates)
    this.#highest = highestRates(rates)
    this.#models = models
  }

  /** Records the answering model. Later calls have no effect. */
  note(index: number | undefined): void {
    this.#index ??= index
  }

  /** Rates of the answering model. Until a model has started to answer, rates of the first one. */
  get rates(): ChatRates {
    return this.#rates[this.#index ?? 0] ?? this.#rates[0]!
  }

  /** Upper-bound rates: the reply's actual rates are never higher. */
  get ratesMax(): ChatRates {
    return this.#index === undefined ? this.#highest : this.rates
  }

  get id(): string | null {
    return this.#model.id
  }

  /** Fields of a receipt, with the model's id if several models may answer. */
  get onReceipt(): Pick<ChatBreakdown, 'rates' | 'model'> {
    const { id } = this.#model
    return { rates: storedRates(this.rates), ...(this.#models.length > 1 && id !== null && { model: id }) }
  }

  /** Returns what the provider charges, in billionths of a USD. Null if it is not known. */
  providerCost(used: ChatUsed): number | null {
    return providerCostOf(used, this.#model.cost)
  }

  get #model(): Chat['models'][number] {
    return this.#models[this.#index ?? 0] ?? this.#models[0]!
  }
}
