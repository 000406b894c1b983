import type { SharedStore, Signals } from '../../shared.ts'
import * as leases from './leases.ts'
import type { SchemaHold } from '../connection/schema-hold.ts'
import { nodeName } from './node-names.ts'
import type { Transactions } from '../connection/transactions.ts'

type Parts = {
  all: Transactions
  /** Renews leases on a separate connection, because a node that renews them too late loses its tasks and turns. */
  urgent: Transactions
  leaseMs: number
  schema: Pick<SchemaHold, 'rename'>
  signals: Signals
}

export function sharedBy({ all, leaseMs, schema, signals, urgent }: Parts): SharedStore {
  return {
    signals,
    renewLeases: (held) => {
      schema.rename(nodeName({ runningTasks: held.tasks.length, openTurns: held.turnIds.length }))
      return urgent.run((tx) => leases.renewLeases(tx, held, leaseMs))
    },
    countQueued: (most) => all.read((on) => leases.queuedCount(on, most)),
  }
}
