/** What our code logs through; the shape of pino's methods, so that the kernel needs no library. */
export type Logger = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** Whether lines of the level are written. A logger that leaves this out is given none of the level `debug`. */
  isLevelEnabled?(level: 'debug'): boolean
}

/** Asked before the fields of a line of a request are gathered, which would cost each request as much as its line. */
export function isDebug(log: Logger): boolean {
  return log.isLevelEnabled?.('debug') === true
}
