const callIdCharsMax = 150
export const callNameCharsMax = 200

/** Makes tool call ids unique within a reply. Some providers restart their numbering at zero in each step. */
export class CallIds {
  readonly #given = new Set<string>()
  readonly #current = new Map<string, string>()

  open(providerId: string): string {
    // Truncate, because some gateways append kilobytes of custom data to ids.
    const short = providerId.slice(0, callIdCharsMax)
    let id = short
    for (let n = 2; this.#given.has(id); n++) id = `${short}-${n}`
    this.#given.add(id)
    this.#current.set(providerId, id)
    return id
  }

  /** Returns the unique id of the latest call with this provider id. */
  of(providerId: string): string {
    return this.#current.get(providerId) ?? providerId
  }
}

/** Converts a tool input to arguments. Wraps any value that is not an object, because a model can generate any JSON. */
export function toArguments(input: unknown): Record<string, unknown> {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return isObject ? (input as Record<string, unknown>) : { input: input ?? null }
}
