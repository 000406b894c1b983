import type { Answer } from '../commands/command.ts'

/** An answer that is already available. */
export class Given<Value> implements Answer<Value> {
  readonly #result: IteratorReturnResult<Value>

  constructor(value: Value) {
    this.#result = { done: true, value }
  }

  [Symbol.iterator](): this {
    return this
  }

  next(): IteratorReturnResult<Value> {
    return this.#result
  }

  map<Next>(make: (value: Value) => Next): Given<Next> {
    return new Given(make(this.#result.value))
  }
}
