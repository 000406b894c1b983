import { FairPlaces } from '../kernel/fair-places.ts'
import { lookupsPerUserMax } from '../outbound/peer.ts'

export type ProcessLimits = { processesMax: number; processesPerUserMax: number }

/** How long a run waits for process slots for its MCP servers. */
export const placesWaitMsMax = 60_000

/**
 * Maximum number of bytes buffered per user for incomplete responses. One response can be up to 10 MB, and takes
 * several times that in memory until it is parsed.
 */
const answerBytesPerUser = 16 * 1024 * 1024
const answerBytesTotal = 64 * 1024 * 1024

export class ConnectorBounds {
  readonly lookups = new FairPlaces({ perUser: lookupsPerUserMax })
  readonly answers = new FairPlaces({ perUser: answerBytesPerUser, total: answerBytesTotal })
  readonly processes: FairPlaces
  readonly limits: ProcessLimits

  constructor(limits: ProcessLimits) {
    const { processesMax: total, processesPerUserMax: perUser } = limits
    this.processes = new FairPlaces({ perUser, total })
    this.limits = limits
  }
}
