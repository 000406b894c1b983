import pino, { type DestinationStream, type Logger } from 'pino'
import { describeFault } from './describe-fault.ts'
import { codeOf } from '../kernel/thrown.ts'

const minuteMs = 60_000
/** Error codes of a full disk. 53100 is PostgreSQL's. */
const fullDiskCodes = new Set(['SQLITE_FULL', 'ENOSPC', 'EDQUOT', '53100'])

/** Logs one JSON object per line to `destination`, by default standard error. */
export function createServiceLog(level: string, destination?: DestinationStream): Logger {
  const serializers = { err: (thrown: unknown) => describeFault(thrown) }
  let mutedUntil = -Infinity
  let muted = 0
  // On a full disk every write fails, and logging each failure would use up the remaining space. Log at most one of
  // them per minute, with the number of skipped lines.
  const hooks: pino.LoggerOptions['hooks'] = {
    logMethod([fields, message], log) {
      if (!isFullDisk((fields as { err?: unknown } | undefined)?.err)) return log.apply(this, [fields, message])
      const now = performance.now()
      if (now < mutedUntil) return void muted++
      mutedUntil = now + minuteMs
      log.apply(this, [{ ...(fields as object), linesSkipped: muted }, `the disk is full. Free up space: ${message}`])
      muted = 0
    },
  }
  return pino({ level, base: null, serializers, hooks }, destination ?? pino.destination({ dest: 2, sync: false }))
}

function isFullDisk(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false
  return fullDiskCodes.has(codeOf(thrown)) || isFullDisk(thrown.cause)
}
