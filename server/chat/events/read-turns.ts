import { requireAgent, type Caller } from '../../auth/caller.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ErrandError } from '../../kernel/errors.ts'
import { FairPlaces } from '../../kernel/fair-places.ts'
import type { Store } from '../../store/store.ts'
import type { Idempotency } from '../../store/task-inputs.ts'
import { sessionNotFound } from '../../sessions/session-operations.ts'
import { keyUsed } from '../chat-refusals.ts'
import { KeptTurns, turnNotFound } from './kept-turns.ts'
import { StoredEvents } from './stored-events.ts'
import type { TurnReader } from './turn-feed.ts'

type Of = { caller: Pick<Caller, 'token' | 'userId'>; turnId: string }

/** Streams of turns that one user reads at once, beside those of messages that are being sent. */
export const readersMax = 200
const fullRetrySeconds = 30

/** Turns as those read and stop them who did not send their message, or have lost its answer. */
export class ReadTurns {
  readonly #parts: { clock: Clock; store: Store }
  readonly #kept: KeptTurns
  readonly #readers = new FairPlaces({ perUser: readersMax })

  constructor(kept: KeptTurns, parts: { clock: Clock; store: Store }) {
    this.#kept = kept
    this.#parts = parts
  }

  /**
   * The events behind `after`, and those to come; undefined where that was the last. Throws 404, 410 and 429, and 400 for a
   * number that is ahead.
   */
  async open({ after, caller, turnId }: Of & { after: number }): Promise<TurnReader | undefined> {
    const { userId } = caller
    const held = await this.#kept.find({ userId, turnId })
    // What gave way in memory may have been written before.
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

  /** That of the turn that is at work in a session; undefined without one. */
  async openOfSession({
    caller,
    sessionId,
  }: Pick<Of, 'caller'> & { sessionId: string }): Promise<TurnReader | undefined> {
    const turnId = await this.#parts.store.turnEvents.findOpenTurn({ userId: caller.userId, sessionId })
    if (turnId === undefined) throw sessionNotFound()
    return turnId === null ? undefined : await this.open({ caller, turnId, after: 0 })
  }

  /** The reply to the same message with the same key; throws 409 for another message, or where nothing of it is kept. */
  async openEarlier(caller: Of['caller'], { bodyHash, key }: Idempotency): Promise<TurnReader | undefined> {
    const { userId } = caller
    const used = await this.#parts.store.findIdempotent({ userId, operation: 'chat', key })
    if (!used) return undefined
    if (used.bodyHash !== bodyHash) throw keyUsed()
    return await this.open({ caller, turnId: used.resourceId, after: 0 }).catch((error: unknown) => {
      throw error instanceof ErrandError && error.code === 'EVENTS_EXPIRED' ? keyUsed() : error
    })
  }

  /** False for a turn that is not open any more. Throws 403 if the credential is for other agents. */
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
          // What cannot be read on is read no more, whether its host says so or not.
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

/** A token that is bound to a session knows no turn of another. */
function assertReached({ token }: Pick<Caller, 'token'>, sessionId: string): void {
  if (token !== null && token.sessionId !== null && token.sessionId !== sessionId) throw turnNotFound()
}

function tooManyReaders(): ErrandError {
  const message = `${readersMax} requests of this account read chats already; read this one when one of them has ended.`
  return new ErrandError('RATE_LIMIT_EXCEEDED', message, { isOtherRate: true, retryAfterSeconds: fullRetrySeconds })
}
