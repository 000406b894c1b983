import type { SignalTopic } from '../../shared.ts'

// Messages between nodes. A payload is a space-separated list of words. Each word is a letter for the topic, followed
// by the id.

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

/** Maximum size of a payload. PostgreSQL's limit is 8,000 bytes. */
const payloadBytesMax = 7900
const payloadsAtOnce = 16
/**
 * Maximum number of queued messages. Further ones are dropped. The queue grows only while the database is unreachable.
 */
const waitingMax = 10_000

export class SignalBatch {
  readonly #words = new Set<string>()

  get isEmpty(): boolean {
    return this.#words.size === 0
  }

  add(topic: SignalTopic, id: string): void {
    // All ids of the service have this format. Any other id would corrupt the other messages in the payload.
    if (this.#words.size < waitingMax && /^[\w-]{0,100}$/.test(id)) this.#words.add(letters[topic] + id)
  }

  putBack(payloads: readonly string[]): void {
    for (const word of payloads.flatMap((payload) => payload.split(' '))) {
      if (this.#words.size < waitingMax) this.#words.add(word)
    }
  }

  /** Removes the oldest messages from the queue and packs them into the payloads of one statement. */
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

/** Skips topics that only newer versions know. */
export function signalsIn(payload: string): { topic: SignalTopic; id: string }[] {
  return payload.split(' ').flatMap((word) => {
    const topic = topics.get(word.slice(0, 1))
    return topic === undefined ? [] : [{ topic, id: word.slice(1) }]
  })
}
