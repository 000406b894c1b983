// What the benchmark's chat agent and its floor are asked to do, so that both write the same events.

/** About what a model sends at a time. */
const delta = 'and so the words come'

export type ChatScript = {
  /** How many text deltas are written. */
  deltas: number
  /** Whether each of them comes by itself, as those of a model do. */
  isPaced: boolean
  /** Whether the stream then stays open until its client leaves. */
  isHeld: boolean
}

/** `events 2000`, `paced 200`, `first` or `hold`. */
export function parseScript(message: string): ChatScript {
  const [mode, count = '1'] = message.split(' ')
  return { deltas: Number(count), isHeld: mode === 'hold', isPaced: mode === 'paced' }
}

/** Each delta is a text of its own, since a writer might recognise one that it has seen. */
export function deltaAt(index: number): string {
  return `${delta} ${index % 1000}`
}

export function usageOf({ deltas }: ChatScript): { promptTokens: number; completionTokens: number } {
  return { promptTokens: 2, completionTokens: deltas * 5 }
}
