import pino, { type DestinationStream, type Logger } from 'pino'
import { describeFault } from './describe-fault.ts'
import { codeOf } from '../kernel/thrown.ts'

const minuteMs = 60_000
/** Codes of a full disk; 53100 is PostgreSQL's. */
const fullDiskCodes = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT', '53100'])

/** The service's log: one JSON object per line, on standard error unless `destination` is given. */
export function createServiceLog(level: string, destination?: DestinationStream): Logger {
  const serializers = { err: (thrown: unknown) => describeFault(thrown) }
  let mutedUntil = -Infinity
  let muted = 0
  // On a full disk every write fails, and a line for each failure would use up the remaining space. Logs one such line
  // per minute, with the number of lines skipped.
  const hooks: pino.LoggerOptions['hooks'] = {
    logMethod([fields, message], log) {
      if (!isFullDisk((fields as { err?: unknown } | undefined)?.err)) return log.apply(this, [fields, message])
      const now = performance.now()
      if (now < mutedUntil) return void muted++
      mutedUntil = now + minuteMs
      log.apply(this, [{ ...(fields as object), linesSkipped: muted }, `the disk is full; free up space: ${message}`])
      muted = 0
    },
  }
  return pino({ level, base: null, serializers, hooks }, destination ?? pino.destination({ dest: 2, sync: false }))
}

function isFullDisk(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  return fullDiskCodes.has(codeOf(thrown)) || isFullDisk(thrown.cause)
}
