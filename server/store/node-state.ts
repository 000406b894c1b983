import type { EpochMs } from '../kernel/clock.ts'

/** A running server of a database. Null values are unknown. */
export type NodeState = {
  host: string
  pid: number | null
  version: string | null
  startedAt: EpochMs | null
  /** Time of the last heartbeat, which a node sends four times per lease. */
  seenAt: EpochMs
  runningTasks: number
  openTurns: number
}
