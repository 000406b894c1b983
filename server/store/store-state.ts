import type { EpochMs } from '../kernel/clock.ts'
import type { PostedTotals } from './ledger/posted-totals.ts'

export type StoreState = {
  pendingTasks: number
  processingTasks: number
  openTurns: number
  users: number
  suspendedUsers: number
  databaseBytes: number
  walBytes: number
  isWritable: boolean
  posted: PostedTotals
}

/** A running server. Unknown fields are null. */
export type NodeState = {
  host: string
  pid: number | null
  version: string | null
  startedAt: EpochMs | null
  /** Time of the last heartbeat. A node sends four heartbeats per lease duration. */
  seenAt: EpochMs
  runningTasks: number
  openTurns: number
}
