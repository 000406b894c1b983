import type { StoredRates } from '../../server/store/sessions/stored-rates.ts'
import type { CompleteTask } from '../../server/store/tasks/task-types.ts'

export const rates: StoredRates = {
  inputPerMillionUsd: '3',
  cacheReadPerMillionUsd: '0.3',
  cacheWritePerMillionUsd: '3',
  cacheWrite1hPerMillionUsd: '3',
  outputPerMillionUsd: '15',
  reasoningPerMillionUsd: '15',
  toolCallUsd: '0',
}

/** Returns the tokens of a completed task with this cost and exact sum. */
export function tokensFor(cost: number, exactUsd: string): Required<CompleteTask>['tokens'] {
  const counts = { promptTokens: 10, cachedPromptTokens: 0, completionTokens: 3, reasoningTokens: 0, toolCalls: 0 }
  return { cost, used: { ...counts, isEstimated: false, modelIndex: 0, exactUsd } }
}
