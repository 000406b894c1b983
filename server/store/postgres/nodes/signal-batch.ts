import type { SignalTopic } from '../../shared.ts'

// How messages are written: a payload is words with a space between them, each a letter for the topic and the id.

const letters = {
  'task-queued': 'q',
  'task-ended': 'e',
  'task-changed': 'p',
  'task-canceled': 'c',
  'session-stopped': 's',
  'turn-stopped': 'x',
  'turn-followed': 'f',
  'turn-told': 't',
} as const satisfies Record<SignalTopic, string>
const topics = new Map(Object.entries(letters).map(([topic, letter]) => [letter as string, topic as SignalTopic]))

/** Of one payload, below PostgreSQL's limit of 8,000. */
const payloadBytesMax = 7900
const payloadsAtOnce = 16
/** What waits beyond this while the database is away is dropped. */
const waitingMax = 10_000

/** Messages that wait to be sent; the same one twice is one. */
export class SignalBatch {
  readonly #words = new Set<string>()

  get isEmpty(): boolean {
    return this.#words.size === 0
  }

  add(topic: SignalTopic, id: string): void {
    // Ids are ours; another would only break the messages beside it.
    if (this.#words.size < waitingMax && /^[\w-]{0,100}$/.test(id)) this.#words.add(letters[topic] + id)
  }

  putBack(payloads: readonly string[]): void {
    for (const word of payloads.flatMap((payload) => payload.split(' '))) {
      if (this.#words.size < waitingMax) this.#words.add(word)
    }
  }

  /** Takes the oldest as payloads, as many as one statement sends. */
  take(): string[] {
    const payloads: string[] = []
    let payload = ''
    for (const word of this.#words) {
      if (payload.length + word.length >= payloadBytesMax) {
        payloads.push(payload)
        payload = ''
        if (payloads.length === payloadsAtOnce) return payloads
      }
      payload += payload === '' ? word : ` ${word}`
      this.#words.delete(word)
    }
    if (payload !== '') payloads.push(payload)
    return payloads
  }
}

/** The messages of a payload; what a newer version sends beside them is passed over. */
export function signalsIn(payload: string): { topic: SignalTopic; id: string }[] {
  return payload.split(' ').flatMap((word) => {
    const topic = topics.get(word.slice(0, 1))
    return topic === undefined ? [] : [{ topic, id: word.slice(1) }]
  })
}
