import type { ChatUsage } from '../../chat/chat-schema.ts'

type Charged = { usage: ChatUsage; costUsd: string }

export function completionUsage({ costUsd, usage }: Charged) {
  return {
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.totalTokens,
    prompt_tokens_details: promptDetails(usage),
    completion_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    tool_calls: usage.toolCalls,
    cost_usd: costUsd,
  }
}

export function responseUsage({ costUsd, usage }: Charged) {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: promptDetails(usage),
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
    total_tokens: usage.totalTokens,
    tool_calls: usage.toolCalls,
    cost_usd: costUsd,
  }
}

function promptDetails({ cachedPromptTokens = 0, cacheWriteTokens }: ChatUsage) {
  return {
    cached_tokens: cachedPromptTokens,
    ...(cacheWriteTokens !== undefined && { cache_write_tokens: cacheWriteTokens }),
  }
}
