import { UserPlaces } from '../kernel/user-places.ts'
import { lookupsPerUserMax } from '../outbound/peer.ts'
import { BytesUnderWay } from './thread/bytes-under-way.ts'

export type ProcessLimits = { processesMax: number; processesPerUserMax: number }

/** For how long a run waits for room for its servers. */
export const placesWaitMsMax = 60_000

/** An answer may have 10 MB. What is read of it takes several times as much until it is parsed. */
const answerBytesPerUserMax = 16 * 1024 * 1024
const answerBytesMax = 64 * 1024 * 1024

/** What users' connectors may have at once, in all runs together. */
export class ConnectorBounds {
  readonly lookups = new UserPlaces({ perUserMax: lookupsPerUserMax })
  readonly answers = new BytesUnderWay({ perUserMax: answerBytesPerUserMax, max: answerBytesMax })
  /** Of stdio servers. */
  readonly processes: UserPlaces
  readonly limits: ProcessLimits

  constructor(limits: ProcessLimits) {
    const { processesMax: max, processesPerUserMax: perUserMax } = limits
    this.processes = new UserPlaces({ perUserMax, max })
    this.limits = limits
  }
}
