// Script for the benchmark's chat agent and for the baseline server, so that both send the same events.

/** Text of each delta, about as long as a real model's delta. */
const delta = 'and so the words come'

export type ChatScript = {
  deltas: number
  /** Whether deltas arrive one by one, as from a model. */
  isPaced: boolean
  /** Whether the stream stays open after the deltas until its client disconnects. */
  isHeld: boolean
}

/** Parses `events 2000`, `paced 200`, `first` or `hold`. */
export function parseScript(message: string): ChatScript {
  const [mode, count = '1'] = message.split(' ')
  return { deltas: Number(count), isHeld: mode === 'hold', isPaced: mode === 'paced' }
}

/** Returns a new string for each delta, because a writer might recognize a repeated one. */
export function deltaAt(index: number): string {
  return `${delta} ${index % 1000}`
}

export function usageOf({ deltas }: ChatScript): { promptTokens: number; completionTokens: number } {
  return { promptTokens: 2, completionTokens: deltas * 5 }
}
