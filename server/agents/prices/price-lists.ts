import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { nearestOf } from '../../kernel/bad-input.ts'
import { messageOf } from '../../kernel/thrown.ts'
import { PriceListError, readPriceList, type ListedPrice, type PriceList } from './price-list.ts'

/** Thrown if a price is missing or invalid. The message is a complete sentence. */
export class PriceError extends Error {
  override readonly name = 'PriceError'
}

export type PriceReference = { model: string; file: string }

/** Reads each price list of a configuration once. Paths are relative to the configuration's folder. */
export class PriceLists {
  readonly #folder: string
  readonly #lists = new Map<string, PriceList>()

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Throws a PriceError if the list has no price for exactly this model. */
  priceOf({ file, model }: PriceReference): { price: ListedPrice; version: string } {
    const path = resolve(this.#folder, file)
    const { prices, unusable, version } = this.#read(path)
    const price = prices.get(model)
    if (price) return { price, version }
    const reason = unusable.get(model)
    if (reason !== undefined)
      throw new PriceError(`The model "${model}" in ${path} ${reason}. Fix the price list or set the rates`)
    const hint = prices.size === 0 ? '' : `. Did you mean "${nearestOf(model, [...prices.keys()])}"?`
    throw new PriceError(`${path} does not have a price for "${model}"${hint}`)
  }

  #read(path: string): PriceList {
    const known = this.#lists.get(path)
    if (known) return known
    const list = openPriceList(path)
    this.#lists.set(path, list)
    return list
  }
}

export function openPriceList(path: string): PriceList {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new PriceError(
      `Could not read the price list (${messageOf(error)}). Check that the file exists and is readable`,
    )
  }
  try {
    return readPriceList(text)
  } catch (error) {
    throw error instanceof PriceListError ? new PriceError(`${path} ${error.message}`) : error
  }
}
