/** The remote end of a connection. Its failures are described in one sentence, without an address or a secret. */
export type Peer = {
  /** Noun for messages, used after "the". */
  name: string
  /**
   * Whether the peer belongs to the operator. If so, messages to users do not name its host, and the environment may
   * disable certificate verification.
   */
  isOperators: boolean
  Failure: new (message: string) => Error
}

/** Max concurrent lookups per user; further lookups wait. */
export const lookupsPerUserMax = 8

/**
 * Thrown for a host that must not be reached. Names with private addresses and names that do not exist get the same
 * error, so that users cannot probe for internal names. The caller creates the message, because only the caller knows
 * how the URL was obtained.
 */
export class NoPublicHostError extends Error {}

export function unanswered({ Failure, name }: Peer): Error {
  return new Failure(`The ${name} closed the connection without an answer.`)
}

export function seconds(ms: number): string {
  return ms === 1000 ? '1 second' : `${ms / 1000} seconds`
}

export function megabytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MB`
}
