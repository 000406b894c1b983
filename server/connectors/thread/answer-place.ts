import type { FairPlaces, Place } from '../../kernel/fair-places.ts'
import { ConnectorError } from '../connector-spec.ts'

export type AnswerRoom = { userId: string; places: FairPlaces }

/** Memory reserved for one incomplete response. A server can leave a response incomplete until the call times out. */
export class AnswerPlace {
  readonly #place: Place
  readonly #perUser: number

  /** `onReclaimed` is called if the response is dropped to free memory for other users. */
  constructor({ places, userId }: AnswerRoom, onReclaimed: (error: ConnectorError) => void) {
    this.#place = places.open(userId, () => onReclaimed(noRoom()))
    this.#perUser = places.perUser
  }

  hold(bytes: number): void {
    const refusal = this.#place.hold(bytes)
    if (refusal === 'full') throw noRoom()
    if (refusal) {
      const most = `${this.#perUser / 1024 / 1024} MB of incomplete responses, or less while the service is busy`
      throw new ConnectorError(`Your connectors can have at most ${most}. Call fewer tools in parallel.`)
    }
  }

  /** Must be called when the response is complete or has failed. */
  release(): void {
    this.#place.release()
  }
}

function noRoom(): ConnectorError {
  return new ConnectorError(
    'The service does not have memory for more incomplete responses. Call fewer tools in parallel.',
  )
}
