const turnsKept = 20_000

/** Adds the entry as the latest one. If there are more than `max` entries, removes the oldest one. */
export function keep<Value>(
  map: Map<string, Value>,
  { key, max, value }: { key: string; max: number; value: Value },
): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > max) map.delete(map.keys().next().value!)
}

/** A target with a due delivery. `isTroubled`: it failed or was slow recently. */
export type Due = { target: string; userId: string; isTroubled: boolean }

/** Records when users and their targets were last served. Users and targets without a record come first. */
export class Turns {
  readonly #last = new Map<string, number>()
  #count = 0

  /**
   * Sorts by when the user was last served, then by when the target was last served. `turnOf` is the key of the user's
   * record. A user's troubled targets have a separate record.
   */
  inOrder<One extends Due>(due: readonly One[]): (One & { turnOf: string })[] {
    return due
      .map((one) => {
        const turnOf = one.isTroubled ? `${one.userId} troubled` : one.userId
        return { ...one, turnOf, ofUser: this.#last.get(turnOf) ?? 0, ofTarget: this.#last.get(one.target) ?? 0 }
      })
      .toSorted((a, b) => a.ofUser - b.ofUser || a.ofTarget - b.ofTarget)
  }

  note(turnOf: string, target: string): void {
    this.#count++
    for (const key of [turnOf, target]) keep(this.#last, { key, value: this.#count, max: turnsKept })
  }
}
