import type { ChatBreakdown } from './session-types.ts'

export const turnEndings = { finished: '', truncated: ', cut off', failed: ', failed' } as const

export const nothingUsed: ChatBreakdown = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  toolCalls: 0,
  rates: {
    inputPerMillionUsd: '0',
    cacheReadPerMillionUsd: '0',
    cacheWritePerMillionUsd: '0',
    cacheWrite1hPerMillionUsd: '0',
    outputPerMillionUsd: '0',
    reasoningPerMillionUsd: '0',
    toolCallUsd: '0',
  },
  isEstimated: false,
}
