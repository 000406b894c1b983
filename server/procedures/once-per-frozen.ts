/**
 * Caches and freezes the result of `make` for each frozen object. For other values, calls `make` each time, because
 * they may have changed. Objects inside a frozen object must not change either.
 */
export function oncePerFrozen<Result>(make: (value: unknown) => Result): (value: unknown) => Result {
  const made = new WeakMap<object, Result>()
  return (value) => {
    if (typeof value !== 'object' || value === null || !Object.isFrozen(value)) return make(value)
    const known = made.get(value)
    if (known !== undefined) return known
    const result = Object.freeze(make(value))
    made.set(value, result)
    return result
  }
}
