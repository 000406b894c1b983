import type { HostileClient } from './hostile-client.ts'

/**
 * One kind of attack, by one user or by strangers. An attack uses several accounts if limits per account would stop it.
 */
export type Attack = {
  accounts: number
  /** Balance of each account in ten-thousandths of a dollar. Default: more than can be spent. */
  balance?: number
  /** Pause between two rounds. */
  restMs: number
  /** Setup before the first round. */
  prepare?: (client: HostileClient) => Promise<void>
  round: (client: HostileClient) => Promise<void>
}
