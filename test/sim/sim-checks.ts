export class Violation extends Error {
  override readonly name = 'Violation'
}

/** Counts checks and throws at the first violation. */
export class Checks {
  count = 0

  that(holds: boolean, what: string | (() => string)): void {
    this.count++
    if (!holds) throw new Violation(typeof what === 'string' ? what : what())
  }

  /** Returns the value; fails if it is null or undefined. */
  present<Value>(value: Value | null | undefined, what: string): Value {
    this.that(value !== null && value !== undefined, what)
    return value!
  }

  same(actual: unknown, expected: unknown, what: string): void {
    this.count++
    if (Object.is(actual, expected)) return
    const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)]
    if (a !== b) throw new Violation(`${what}: ${clip(a)} instead of ${clip(b)}`)
  }
}

function clip(text = 'undefined'): string {
  return text.length > 600 ? `${text.slice(0, 600)}…` : text
}
