import { boundSessionOf, requireAgent, type Caller } from '../../procedures/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { FairPlaces } from '../../kernel/fair-places.ts'
import type { Store } from '../../store/store.ts'
import type { Idempotency } from '../../store/tasks/task-types.ts'
import { sessionNotFound } from '../sessions/session-operations.ts'
import { keyUsed } from '../chat-refusals.ts'
import { KeptTurns, turnNotFound } from './kept-turns.ts'
import { StoredEvents } from './stored-events.ts'
import type { TurnReader } from './turn-feed.ts'

type Of = { caller: Pick<Caller, 'credential' | 'userId'>; turnId: string }

/**
 * Maximum number of turns that one user can read concurrently, not counting the response streams of the user's own
 * messages.
 */
export const readersMax = 200
const fullRetrySeconds = 30

/** Reads and stops turns for clients that did not send the message or that lost the response. */
export class ReadTurns {
  readonly #parts: { clock: Clock; store: Store }
  readonly #kept: KeptTurns
  readonly #readers = new FairPlaces({ perUser: readersMax })

  constructor(kept: KeptTurns, parts: { clock: Clock; store: Store }) {
    this.#kept = kept
    this.#parts = parts
  }

  /**
   * Returns a reader of the events after `after`, including future ones, or undefined if `after` is the last event.
   * Throws 404, 410 or 429, or 400 if `after` is beyond the last event.
   */
  async open({ after, caller, turnId }: Of & { after: number }): Promise<TurnReader | undefined> {
    const { userId } = caller
    const held = await this.#kept.find({ userId, turnId })
    // Events that were dropped from memory may be in the store.
    const ring = held?.feed.ring
    if (held && ring && (ring.writtenSeq === undefined || after + 1 >= ring.firstSeq)) {
      assertReached(caller, held.sessionId)
      return await this.#counted(userId, () => this.#kept.read(held, after))
    }
    const turn = await this.#parts.store.turnEvents.findTurn({ userId, turnId })
    if (!turn) throw turnNotFound()
    assertReached(caller, turn.sessionId)
    return await this.#counted(userId, () => StoredEvents.open(this.#parts, { turn, after }))
  }

  async openOfSession({
    caller,
    sessionId,
  }: Pick<Of, 'caller'> & { sessionId: string }): Promise<TurnReader | undefined> {
    const turnId = await this.#parts.store.turnEvents.findOpenTurn({ userId: caller.userId, sessionId })
    if (turnId === undefined) throw sessionNotFound()
    return turnId === null ? undefined : await this.open({ caller, turnId, after: 0 })
  }

  /**
   * Returns a reader of the reply to an earlier request with this Idempotency-Key, or undefined if there was none.
   * Throws 409 if that request had a different body, or if the events of its reply are no longer stored.
   */
  async openEarlier(caller: Of['caller'], { bodyHash, key }: Idempotency): Promise<TurnReader | undefined> {
    const { userId } = caller
    const used = await this.#parts.store.findIdempotent({ userId, operation: 'chat', key })
    if (!used) return undefined
    if (used.bodyHash !== bodyHash) throw keyUsed()
    return await this.open({ caller, turnId: used.resourceId, after: 0 }).catch((error: unknown) => {
      throw error instanceof ErrandError && error.code === 'EVENTS_EXPIRED' ? keyUsed() : error
    })
  }

  /** Returns false if the turn is no longer running. Throws 403 if the credential is limited to other agents. */
  async stop({ caller, turnId }: Of & { caller: Pick<Caller, 'agents'> }): Promise<boolean> {
    const { userId } = caller
    const held = await this.#kept.find({ userId, turnId })
    if (held) assertReached(caller, held.sessionId)
    if (held && caller.agents === null) return held.feed.stop()
    const { shared, turnEvents } = this.#parts.store
    const turn = await turnEvents.findTurn({ userId, turnId })
    if (!turn) throw turnNotFound()
    assertReached(caller, turn.sessionId)
    requireAgent(caller, turn.agentId)
    if (held) return held.feed.stop()
    if (turn.settledAt !== null) return false
    shared?.signals.send('turn-stopped', turnId)
    return true
  }

  async #counted(
    userId: string,
    open: () => TurnReader | undefined | Promise<TurnReader | undefined>,
  ): Promise<TurnReader | undefined> {
    const place = this.#readers.open(userId)
    if (place.hold(1)) throw tooManyReaders()
    try {
      const reader = await open()
      if (!reader) {
        place.release()
        return undefined
      }
      const next = async () => {
        try {
          const lines = await reader.next()
          if (lines === undefined) place.release()
          return lines
        } catch (error) {
          // After an error, release the slot here, because the caller may not call `leave`.
          place.release()
          reader.leave()
          throw error
        }
      }
      return {
        turnId: reader.turnId,
        next,
        leave: () => {
          place.release()
          reader.leave()
        },
      }
    } catch (error) {
      place.release()
      throw error
    }
  }
}

function assertReached(caller: Pick<Caller, 'credential'>, sessionId: string): void {
  const only = boundSessionOf(caller)
  if (only !== null && only !== sessionId) throw turnNotFound()
}

function tooManyReaders(): ErrandError {
  const message = `This account already has ${readersMax} requests reading replies, the maximum. Retry when one of them has ended.`
  return new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds: fullRetrySeconds })
}
