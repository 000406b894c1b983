// What the stub of a model provider is asked for in the last message of a prompt, and the deltas that tell when they
// were sent.

export type ModelScript = {
  /** How many text deltas the reply has. */
  deltas: number
  /** Milliseconds between two of them; 0 for as fast as they are read. */
  everyMs: number
}

/** `events 500`, or `paced 200 100` for 200 deltas of which one is sent every 100 ms. */
export function parseModelScript(message: string): ModelScript {
  const [, deltas = '1', everyMs = '0'] = message.split(' ')
  return { deltas: Number(deltas), everyMs: Number(everyMs) }
}

/** About four tokens that hold the time, on the clock that all processes of a machine share. */
export function stampedDelta(): string {
  return `at ${clockMs().toFixed(1)};`
}

/** When the delta in this line was sent, in milliseconds of that clock; undefined for a line without one. */
export function readStamp(line: string): number | undefined {
  const start = line.indexOf('"at ')
  return start === -1 ? undefined : Number(line.slice(start + 4, line.indexOf(';', start)))
}

export function clockMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
