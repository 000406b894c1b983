import { ConnectorError } from '../connector-spec.ts'

type Bounds = { perUserMax: number; max: number }
type User = { bytes: number; shares: Set<Share> }

/** What one answer that is not complete yet holds. */
export type Share = {
  /** So much of it is held now. Throws a ConnectorError when that is more than there is room for. */
  hold(bytes: number): void
  /** It is complete, or given up. */
  release(): void
  readonly bytes: number
}

/**
 * The bytes of answers that have begun and not ended, which a server may leave so for as long as a call takes. Each user
 * has a bound. Where the one for all is reached, it is the largest answer of whoever holds most that fails, so that
 * nobody is refused for what others hold.
 */
export class BytesUnderWay {
  readonly #bounds: Bounds
  readonly #users = new Map<string, User>()
  readonly #ends = new Map<Share, (error: ConnectorError) => void>()
  #bytes = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  get bytes(): number {
    return this.#bytes
  }

  /** `onEnd` is told when the answer has to be given up for room that others need. */
  share(userId: string, onEnd: (error: ConnectorError) => void): Share {
    let held = 0
    const set = (bytes: number) => {
      const user = this.#users.get(userId) ?? { bytes: 0, shares: new Set() }
      user.bytes += bytes - held
      this.#bytes += bytes - held
      held = bytes
      if (bytes > 0) user.shares.add(share)
      else user.shares.delete(share)
      if (user.shares.size > 0) this.#users.set(userId, user)
      else this.#users.delete(userId)
    }
    const share: Share = {
      get bytes() {
        return held
      },
      hold: (bytes) => {
        const more = bytes - held
        if (more > 0 && (this.#users.get(userId)?.bytes ?? 0) + more > this.#bounds.perUserMax) {
          set(0)
          throw tooMuch('your connectors have', this.#bounds.perUserMax)
        }
        set(bytes)
        while (this.#bytes > this.#bounds.max) this.#endLargest(share)
      },
      release: () => {
        set(0)
        this.#ends.delete(share)
      },
    }
    this.#ends.set(share, onEnd)
    return share
  }

  /** Throws where that is the one that asks for room. */
  #endLargest(asking: Share): void {
    const most = [...this.#users.values()].reduce((a, b) => (b.bytes > a.bytes ? b : a))
    const largest = [...most.shares].reduce((a, b) => (b.bytes > a.bytes ? b : a))
    const end = this.#ends.get(largest)
    largest.release()
    const error = tooMuch('all connectors have', this.#bounds.max)
    if (largest === asking) throw error
    end?.(error)
  }
}

function tooMuch(who: string, bytesMax: number): ConnectorError {
  const megabytes = bytesMax / 1024 / 1024
  return new ConnectorError(
    `The answers that ${who} under way are more than ${megabytes} MB; call fewer tools at once.`,
  )
}
