/** Describes the remote end of a connection in error messages. Messages contain neither its address nor any secrets. */
export type Peer = {
  /** Noun that follows "the" in messages. */
  name: string
  /**
   * Whether the operator configured the peer. Messages to users then omit its host, and the environment may disable
   * certificate verification.
   */
  isOperators: boolean
  Failure: new (message: string) => Error
}

export const lookupsPerUserMax = 8

/**
 * Thrown for a host that has only private addresses or does not exist. The error is the same in both cases, so that
 * users cannot probe for internal names. The caller writes the message, because it knows where the URL comes from.
 */
export class NoPublicHostError extends Error {}

export function unanswered({ Failure, name }: Peer): Error {
  return new Failure(`The ${name} closed the connection without a response. Try again.`)
}

export function seconds(ms: number): string {
  return ms === 1000 ? '1 second' : `${ms / 1000} seconds`
}

export function megabytes(bytes: number): string {
  return `${bytes / 1024 / 1024} MB`
}
