export type GateEnd = 'ok' | 'fail'

/** Named gates at which agents wait until the simulation opens them. An open gate stays open. */
export class Gates {
  readonly #ends = new Map<string, GateEnd>()
  readonly #waiting = new Map<string, Set<(end: GateEnd) => void>>()

  open(name: string, end: GateEnd): void {
    this.#ends.set(name, end)
    for (const resolve of this.#waiting.get(name) ?? []) resolve(end)
    this.#waiting.delete(name)
  }

  /** Closes all gates, because the next world in this process may reuse their names. */
  closeAll(): void {
    this.#ends.clear()
  }

  /** Resolves when the gate opens; rejects if the signal fires first. */
  async pass(name: string, signal: AbortSignal): Promise<GateEnd> {
    const end = this.#ends.get(name)
    if (end) return end
    return await new Promise<GateEnd>((resolve, reject) => {
      const waiting = this.#waiting.get(name) ?? new Set()
      this.#waiting.set(name, waiting.add(resolve))
      signal.addEventListener('abort', () => {
        waiting.delete(resolve)
        reject(new Error('The run was stopped.'))
      })
    })
  }
}

export const gates = new Gates()
