// Scripts for the stub of a model provider, and deltas that contain the time when they were sent. The stub reads its
// script from the last message of the prompt.

export type ModelScript = {
  deltas: number
  /** Milliseconds between two deltas. 0 sends them as fast as the client reads. */
  everyMs: number
}

export function parseModelScript(message: string): ModelScript {
  const [, deltas = '1', everyMs = '0'] = message.split(' ')
  return { deltas: Number(deltas), everyMs: Number(everyMs) }
}

/**
 * Returns a delta of about four tokens that contains the current time, read from a clock that all processes of the
 * machine share.
 */
export function stampedDelta(): string {
  return `at ${clockMs().toFixed(1)};`
}

/**
 * Returns the send time of the delta in this line, in milliseconds of that clock. Returns undefined for a line without
 * a time.
 */
export function readStamp(line: string): number | undefined {
  const start = line.indexOf('"at ')
  return start === -1 ? undefined : Number(line.slice(start + 4, line.indexOf(';', start)))
}

export function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
