import { ErrandError } from '../../kernel/errors.ts'

/** Of files that messages and turns have in memory, from before a message is admitted to the end of its turn. */
const bytesMax = 268_435_456
/** Of those of one user, who would else have the files of all others refused. */
const userBytesMax = bytesMax / 2
const retrySeconds = 5

/** What files take of the memory of this process. */
export class FileRoom {
  readonly #ofUsers = new Map<string, number>()
  #bytes = 0

  place(userId: string): FilePlace {
    return new FilePlace({
      fits: (bytes) => this.#bytes + bytes <= bytesMax && (this.#ofUsers.get(userId) ?? 0) + bytes <= userBytesMax,
      add: (bytes) => {
        this.#bytes += bytes
        const own = (this.#ofUsers.get(userId) ?? 0) + bytes
        if (own > 0) this.#ofUsers.set(userId, own)
        else this.#ofUsers.delete(userId)
      },
    })
  }
}

type Room = { fits: (bytes: number) => boolean; add: (bytes: number) => void }

/** What the files of one message, and later those of its turn, take of it until `leave`. */
export class FilePlace {
  readonly #room: Room
  #hasLeft = false
  bytes = 0

  constructor(room: Room) {
    this.#room = room
  }

  /** False where there is no room for so many more. */
  offer(bytes: number): boolean {
    if (this.#hasLeft || !this.#room.fits(bytes)) return false
    this.bytes += bytes
    this.#room.add(bytes)
    return true
  }

  /** Throws 503 where there is none; called before the bytes are in memory. */
  take(bytes: number): void {
    if (this.offer(bytes)) return
    const message = 'Too many files are being worked on; send the message again.'
    throw new ErrandError('SERVICE_UNAVAILABLE', message, { retryAfterSeconds: retrySeconds })
  }

  leave(): void {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#room.add(-this.bytes)
    this.bytes = 0
  }
}
