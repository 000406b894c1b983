/** Matches pino's method signatures, so that the kernel does not depend on pino. */
export type Logger = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** Whether lines of the given level are written. A logger without this method gets no `debug` lines. */
  isLevelEnabled?(level: 'debug'): boolean
}

/**
 * Check this before collecting the fields of a debug line, because collecting them costs as much as writing the line.
 */
export function isDebug(log: Logger): boolean {
  return log.isLevelEnabled?.('debug') === true
}
