import type { Answer } from '../commands/command.ts'

export class ReadyAnswer<Value> implements Answer<Value> {
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

  map<Next>(make: (value: Value) => Next): ReadyAnswer<Next> {
    return new ReadyAnswer(make(this.#result.value))
  }
}
