import type { ChatBreakdown } from './records.ts'

/** What a charge's description says of how the turn ended. */
export const turnEndings = { finished: '', truncated: ', cut off', failed: ', failed' } as const

export const nothingUsed: ChatBreakdown = {
  promptTokens: 0,
  cachedPromptTokens: 0,
  completionTokens: 0,
  reasoningTokens: 0,
  toolCalls: 0,
  rates: {
    inputPer1kUsd: '0',
    cachedInputPer1kUsd: '0',
    outputPer1kUsd: '0',
    reasoningPer1kUsd: '0',
    toolCallUsd: '0',
  },
  isEstimated: false,
}
