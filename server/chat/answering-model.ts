import type { Chat } from '../agents/config/catalogue.ts'
import { highestRates, providerCostOf, ratesByModel, type ChatRates, type ChatUsed } from '../billing/chat-price.ts'
import { storedRates } from '../billing/written-rates.ts'
import type { ChatBreakdown } from '../store/sessions/session-types.ts'

export class AnsweringModel {
  readonly #rates: readonly ChatRates[]
  readonly #highest: ChatRates
  readonly #models: Chat['models']
  #index: number | undefined

  constructor(rates: ChatRates, models: Chat['models']) {
    this.#rates = ratesByModel(rates)
    this.#highest = highestRates(rates)
    this.#models = models
  }

  note(index: number | undefined): void {
    this.#index ??= index
  }

  /** Rates of the model that is answering, or of the first model until one starts to answer. */
  get rates(): ChatRates {
    return this.#rates[this.#index ?? 0] ?? this.#rates[0]!
  }

  /** Highest rates that can apply to the reply. */
  get ratesMax(): ChatRates {
    return this.#index === undefined ? this.#highest : this.rates
  }

  get id(): string | null {
    return this.#model.id
  }

  get onReceipt(): Pick<ChatBreakdown, 'rates' | 'model'> {
    const { id } = this.#model
    return { rates: storedRates(this.rates), ...(this.#models.length > 1 && id !== null && { model: id }) }
  }

  providerCost(used: ChatUsed): number | null {
    return providerCostOf(used, this.#model.cost)
  }

  get #model(): Chat['models'][number] {
    return this.#models[this.#index ?? 0] ?? this.#models[0]!
  }
}
