// Script for the stub of a model provider, sent as the last message of a prompt, and deltas that contain their send
// time.

export type ModelScript = {
  deltas: number
  /** Milliseconds between two deltas; 0 for as fast as they are read. */
  everyMs: number
}

/** Parses `events 500`, or `paced 200 100` for 200 deltas, one every 100 ms. */
export function parseModelScript(message: string): ModelScript {
  const [, deltas = '1', everyMs = '0'] = message.split(' ')
  return { deltas: Number(deltas), everyMs: Number(everyMs) }
}

/** A delta of about four tokens with the current time, from a clock that all processes of the machine share. */
export function stampedDelta(): string {
  return `at ${clockMs().toFixed(1)};`
}

/**
 * Returns when the delta in this line was sent, in milliseconds of that clock. Undefined for a line without a stamp.
 */
export function readStamp(line: string): number | undefined {
  const start = line.indexOf('"at ')
  return start === -1 ? undefined : Number(line.slice(start + 4, line.indexOf(';', start)))
}

export function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
