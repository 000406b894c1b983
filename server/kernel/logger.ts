/** Log interface of our code, in the shape of pino's methods, so that the kernel needs no library. */
export type Logger = {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** Whether lines of that level are written. A logger without this method gets no `debug` lines. */
  isLevelEnabled?(level: 'debug'): boolean
}

/** Checked before the fields of a request's log line are collected, which costs as much as writing the line. */
export function isDebug(log: Logger): boolean {
  return log.isLevelEnabled?.('debug') === true
}
