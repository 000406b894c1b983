/** Whom a connection is made to, and how its failures are told: in one sentence, without an address or a secret. */
export type Peer = {
  /** As a sentence has it after "the". */
  name: string
  /**
   * Whether it is the operator's own: then messages, which users read, do not name its host, and the environment may
   * turn the check of its certificate off.
   */
  isOperators: boolean
  Failure: new (message: string) => Error
}

/** Look-ups of one user at a time; more of them wait. */
export const lookupsPerUserMax = 8

/**
 * A host that may not be reached. That is one error for a name that leads to private addresses and for one that leads
 * nowhere: else a user could try which names there are inside. The message is the business of who knows the hop.
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
