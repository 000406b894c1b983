import { FairPlaces } from '../kernel/fair-places.ts'
import { lookupsPerUserMax } from '../outbound/peer.ts'

export type ProcessLimits = { processesMax: number; processesPerUserMax: number }

/** For how long a run waits for room for its servers. */
export const placesWaitMsMax = 60_000

/** An answer may have 10 MB. What is read of it takes several times as much until it is parsed. */
const answerBytesPerUser = 16 * 1024 * 1024
const answerBytesTotal = 64 * 1024 * 1024

/** What users' connectors may have at once, in all runs together. */
export class ConnectorBounds {
  readonly lookups = new FairPlaces({ perUser: lookupsPerUserMax })
  readonly answers = new FairPlaces({ perUser: answerBytesPerUser, total: answerBytesTotal })
  /** Of stdio servers. */
  readonly processes: FairPlaces
  readonly limits: ProcessLimits

  constructor(limits: ProcessLimits) {
    const { processesMax: total, processesPerUserMax: perUser } = limits
    this.processes = new FairPlaces({ perUser, total })
    this.limits = limits
  }
}
