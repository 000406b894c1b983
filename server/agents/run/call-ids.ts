const callIdCharsMax = 150
export const callNameCharsMax = 200

/** Assigns unique tool call ids within a reply. Some providers number the calls of each step from zero. */
export class CallIds {
  readonly #given = new Set<string>()
  readonly #current = new Map<string, string>()

  open(providerId: string): string {
    // Some gateways append kilobytes of custom data to ids.
    const short = providerId.slice(0, callIdCharsMax)
    let id = short
    for (let n = 2; this.#given.has(id); n++) id = `${short}-${n}`
    this.#given.add(id)
    this.#current.set(providerId, id)
    return id
  }

  /** Returns the unique id of the latest call that has this provider id. */
  of(providerId: string): string {
    return this.#current.get(providerId) ?? providerId
  }
}

/** Tool arguments must be an object, but a model may write any JSON. */
export function toArguments(input: unknown): Record<string, unknown> {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return isObject ? (input as Record<string, unknown>) : { input: input ?? null }
}
