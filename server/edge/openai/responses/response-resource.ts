import type { Sampling } from '../../../agents/run/chat-messages.ts'
import type { EpochMs } from '../../../kernel/clock.ts'
import type { ReplyPart } from '../collect-reply.ts'
import type { ReplyEnd } from '../reply-end.ts'
import { responseUsage } from '../usage.ts'
import { wireError } from '../wire-error.ts'

/** Request fields that a response repeats. Only some of them are known if the response is read later. */
export type ResponseRequest = {
  model: string
  sessionId: string | null
  instructions: string | null
  previousId: string | null
  temperature: number | null
  sampling?: Sampling
  maxTokens: number | null
  metadata: Record<string, string>
  format: object
  isBackground: boolean
}

export type Status = 'in_progress' | 'completed' | 'incomplete' | 'cancelled' | 'failed'

const prefix = { text: 'msg', reasoning: 'rs' } as const

export function responseId(turnId: string): string {
  return `resp_${turnId.slice('turn_'.length)}`
}

export function itemId(kind: ReplyPart['kind'], { index, turnId }: { turnId: string; index: number }): string {
  return `${prefix[kind]}_${turnId.slice('turn_'.length)}${index === 0 ? '' : `_${index}`}`
}

export function textPart(text: string) {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

/** OpenAI and Open Responses clients expect reasoning as a summary. */
export function reasoningPart(text: string) {
  return { type: 'summary_text', text }
}

type Item = {
  id: string
  kind: ReplyPart['kind']
  status: 'in_progress' | 'completed' | 'incomplete'
  parts: object[]
}

export function toItem({ id, kind, parts, status }: Item): object {
  if (kind === 'reasoning') return { type: 'reasoning', id, status, summary: parts }
  return { type: 'message', id, status, role: 'assistant', content: parts }
}

export function statusOf({ kind }: ReplyEnd): Status {
  switch (kind) {
    case 'finished':
      return 'completed'
    case 'cut':
      return 'incomplete'
    case 'stopped':
      return 'cancelled'
    case 'failed':
      return 'failed'
  }
}

type Resource = {
  turnId: string
  asked: ResponseRequest
  createdAt: EpochMs
  ended: { end: ReplyEnd; parts: readonly ReplyPart[]; at: EpochMs } | null
}

export function toResponse({ asked, createdAt, ended, turnId }: Resource): object {
  const { format, instructions, isBackground, maxTokens, metadata, model, previousId, sessionId, temperature } = asked
  const { frequencyPenalty = 0, presencePenalty = 0, topP = 1 } = asked.sampling ?? {}
  const status = ended ? statusOf(ended.end) : 'in_progress'
  // Only the last item can have been cut off.
  const items = ended?.parts.map(({ kind, text }, index, { length }) =>
    toItem({
      id: itemId(kind, { turnId, index }),
      kind,
      status: status === 'completed' || index < length - 1 ? 'completed' : 'incomplete',
      parts: [kind === 'text' ? textPart(text) : reasoningPart(text)],
    }),
  )
  return {
    id: responseId(turnId),
    object: 'response',
    created_at: seconds(createdAt),
    completed_at: ended && status === 'completed' ? seconds(ended.at) : null,
    status,
    incomplete_details: status === 'incomplete' ? { reason: reasonOf(ended!.end) } : null,
    model,
    previous_response_id: previousId,
    instructions,
    output: items ?? [],
    error: status === 'failed' ? errorOf(ended!.end) : null,
    tools: [],
    tool_choice: 'auto',
    truncation: 'disabled',
    parallel_tool_calls: true,
    text: { format },
    top_p: topP,
    presence_penalty: presencePenalty,
    frequency_penalty: frequencyPenalty,
    top_logprobs: 0,
    temperature: temperature ?? 1,
    reasoning: null,
    usage: ended?.end.usage ? responseUsage({ usage: ended.end.usage, costUsd: ended.end.costUsd }) : null,
    max_output_tokens: maxTokens,
    max_tool_calls: null,
    store: sessionId !== null,
    background: isBackground,
    service_tier: 'default',
    metadata,
    safety_identifier: null,
    prompt_cache_key: null,
    ...(sessionId !== null && { conversation: { id: sessionId } }),
  }
}

function reasonOf(end: ReplyEnd): string {
  return end.kind === 'cut' && end.code !== null ? end.code.toLowerCase() : 'max_output_tokens'
}

function errorOf(end: ReplyEnd): object | null {
  if (!end.error) return null
  const { code, message } = wireError(end.error)
  return { code, message }
}

function seconds(at: EpochMs): number {
  return Math.floor(at / 1000)
}
