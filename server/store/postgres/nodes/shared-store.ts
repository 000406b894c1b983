import type { SharedStore, Signals } from '../../shared.ts'
import * as leases from './leases.ts'
import type { Transactions } from '../connection/transactions.ts'

type Parts = {
  all: Transactions
  /**
   * Transactions on a separate connection, because a node that cannot renew its leases in time loses its tasks and
   * turns.
   */
  urgent: Transactions
  leaseMs: number
  signals: Signals
}

export function sharedBy({ all, leaseMs, signals, urgent }: Parts): SharedStore {
  return {
    signals,
    renewLeases: (held) => urgent.run((tx) => leases.renewLeases(tx, held, leaseMs)),
    countQueued: (most) => all.read((on) => leases.queuedCount(on, most)),
  }
}
