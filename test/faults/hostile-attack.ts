import type { HostileClient } from './hostile-client.ts'

/** One kind of attack, by one user or by strangers, of whom each has an account or more for its own limits. */
export type Attack = {
  accounts: number
  /** The balance of each account in ten-thousandths of a dollar; more than is ever spent where it is left out. */
  balance?: number
  /** Between two rounds. */
  restMs: number
  /** What is needed before the first round. */
  prepare?: (client: HostileClient) => Promise<void>
  round: (client: HostileClient) => Promise<void>
}
