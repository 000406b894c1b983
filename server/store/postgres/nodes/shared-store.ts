import type { SharedStore, Signals } from '../../shared.ts'
import * as leases from './leases.ts'
import type { TaskJobs } from './task-jobs.ts'
import type { Transactions } from '../connection/transactions.ts'

type Parts = {
  all: Transactions
  /** With a connection of its own, since a node that cannot renew its leases loses its work. */
  urgent: Transactions
  jobs: TaskJobs
  leaseMs: number
  signals: Signals
}

/** What the nodes of one database need of each other. */
export function sharedBy({ all, jobs, leaseMs, signals, urgent }: Parts): SharedStore {
  return {
    signals,
    takeTasks: async (limit) => {
      const taken = await all.run((tx) => leases.takeTasks(tx, { jobs, limit, leaseMs }))
      for (const { id, userId } of taken) all.lanes.know(id, userId)
      return taken.map(({ id }) => id)
    },
    renewLeases: (held) => urgent.run((tx) => leases.renewLeases(tx, held, leaseMs)),
    requeueTaken: () => all.run((tx) => leases.requeueExpired(tx, jobs)),
    queueUnheard: () => all.run((tx) => leases.queueUnheard(tx, jobs)),
    countQueued: (most) => all.read((on) => leases.queuedCount(on, most)),
  }
}
