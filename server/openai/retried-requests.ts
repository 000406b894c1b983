import { createHash } from 'node:crypto'

type Known = {
  turnId: Promise<string>
  /** When its reader had all of it, or left; undefined while it reads. */
  leftAt: number | undefined
}

/** How long a request is known after its reader left. */
const knownMs = 60_000
const knownMax = 10_000

/**
 * Requests that OpenAI's clients may repeat by themselves, of which they only say how often they did. A repetition is
 * given the reply of the first, and is charged nothing. Known in this process; an Idempotency-Key is known to all.
 */
export class RetriedRequests {
  /** The oldest first. */
  readonly #known = new Map<string, Known>()

  /** What the same request was answered with; undefined where there was none. */
  find(key: string): Promise<string> | undefined {
    const known = this.#known.get(key)
    return known && !isOver(known) ? known.turnId : undefined
  }

  /** Returns what is to be called when its reader has gone. A refusal is forgotten: nothing was charged for it. */
  add(key: string, turnId: Promise<string>): () => void {
    const known: Known = { turnId, leftAt: undefined }
    this.#known.delete(key)
    this.#known.set(key, known)
    for (const [oldest, of] of this.#known) {
      if (!isOver(of) && this.#known.size <= knownMax) break
      this.#known.delete(oldest)
    }
    turnId.catch(() => {
      if (this.#known.get(key) === known) this.#known.delete(key)
    })
    return () => {
      known.leftAt ??= performance.now()
    }
  }
}

/** The same for the same request of the same user. */
export function requestKey(...parts: readonly string[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('base64url')
}

function isOver({ leftAt }: Known): boolean {
  return leftAt !== undefined && performance.now() - leftAt > knownMs
}
