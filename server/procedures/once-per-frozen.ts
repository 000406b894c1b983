/**
 * Remembers what `make` returns for a frozen object as long as the object exists, and freezes it too. For any other
 * value, calls `make` each time, because the value can have changed. What a frozen object contains must not be changed.
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
