import type { Chat } from '../../../agents/config/catalogue.ts'
import type { RoutedRequest } from '../../../http/routed-request.ts'
import type { OpenaiParts } from '../openai-parts.ts'
import { collectReply } from '../collect-reply.ts'
import { CompletionInput } from '../input/completion-input.ts'
import { parseInput } from '../input/parse-input.ts'
import { messageNames, readMessages } from '../input/read-messages.ts'
import { readFormat } from '../input/response-format.ts'
import { readSampling } from '../input/sampling.ts'
import { modelOf } from '../models.ts'
import { endOf, type ReplyEnd } from '../reply-end.ts'
import { continuedSession, unstoredSession } from '../reply-session.ts'
import { callerOf, sessionOf, startReply } from '../start-reply.ts'
import { completionUsage } from '../usage.ts'
import { wireError, badParam } from '../wire-error.ts'
import { answerReply, streamReply, type Translation } from '../write-reply.ts'
import { ChatChunks } from './chat-chunks.ts'

/**
 * Handles POST /v1/chat/completions. Starts a turn without a session, or the next turn of the session named in the
 * `Errand-Session` header.
 */
export async function createCompletion(parts: OpenaiParts, routed: RoutedRequest, body: unknown): Promise<void> {
  const caller = callerOf(routed)
  const session = sessionOf(routed)
  const input = parseInput(CompletionInput, body)
  const { model, stream_options: options, temperature } = input
  const agent = modelOf({ caller, catalogue: parts.catalogue }, model)
  const { earlier, message } = readMessages(input.messages, { param: 'messages', chat: agent.chat })
  // A session has its own history, so use only the system messages from the request.
  const told = session === undefined ? earlier : earlier.filter(({ role }) => role === 'system')
  const responseFormat = readFormat(input.response_format, { chat: agent.chat, param: 'response_format' })
  const maxTokens = maxTokensOf(input, agent.chat)
  const place =
    session === undefined
      ? unstoredSession(parts, agent.id)
      : await continuedSession(parts, { caller, sessionId: session, model })
  const reply = await startReply(parts, routed, {
    body,
    message: message.content,
    params: { ...(typeof temperature === 'number' && { temperature }), ...(maxTokens !== undefined && { maxTokens }) },
    setting: { ...place.setting, earlier: told, ...(responseFormat && { responseFormat }), ...readSampling(input) },
    open: place.open,
    names: {
      ...messageNames({ earlier: told, message }, 'messages'),
      'params.maxTokens': typeof input.max_completion_tokens === 'number' ? 'max_completion_tokens' : 'max_tokens',
    },
  })
  const { turnId } = reply
  const id = `chatcmpl-${turnId.slice('turn_'.length)}`
  const created = Math.floor(parts.clock.now() / 1000)
  const of = { store: parts.store, userId: caller.userId }
  if (input.stream === true) {
    const chunks = new ChatChunks({ id, model, created, includeUsage: options?.include_usage === true })
    const finish = async () => {
      if (!chunks.end) return ''
      return finished(chunks, await endOf(chunks.end, { ...of, turnId, hasText: chunks.hasText }))
    }
    const translation: Translation = { begin: () => chunks.begin(), write: (lines) => chunks.write(lines), finish }
    return await streamReply(routed, { reply, stallMs: parts.stallMs, translation })
  }
  const whole = await collectReply(reply, of)
  if (!whole) return
  const { end, reasoning, text } = whole
  if (end.error) throw end.error
  const content = {
    role: 'assistant',
    content: text,
    refusal: null,
    ...(reasoning !== '' && { reasoning_content: reasoning }),
  }
  const choice = { index: 0, message: content, logprobs: null, finish_reason: reasonOf(end) }
  const completion = { id, object: 'chat.completion', created, model, choices: [choice], usage: completionUsage(end) }
  await answerReply(routed, completion, { turnId, costUsd: end.costUsd })
}

function finished(chunks: ChatChunks, end: ReplyEnd): string {
  if (end.error) {
    return `data: ${JSON.stringify({ error: { ...wireError(end.error), cost_usd: end.costUsd } })}\n\ndata: [DONE]\n\n`
  }
  return `${chunks.finish(reasonOf(end), completionUsage(end))}data: [DONE]\n\n`
}

type Charged = Extract<ReplyEnd, { error: null }>

function reasonOf({ code, kind }: Charged): 'stop' | 'length' | 'content_filter' {
  if (kind === 'finished') return 'stop'
  return code === 'CONTENT_FILTER' ? 'content_filter' : 'length'
}

/**
 * Returns the requested maximum number of output tokens, capped at the agent's limit. Clients may send a value meant
 * for another model.
 */
function maxTokensOf(
  { max_completion_tokens: ofCompletion, max_tokens: older }: CompletionInput,
  { maxOutputTokens }: Chat,
): number | undefined {
  if (typeof ofCompletion === 'number' && typeof older === 'number' && ofCompletion !== older) {
    throw badParam('max_tokens', 'Must be omitted if max_completion_tokens is set')
  }
  const maxTokens = ofCompletion ?? older ?? undefined
  return maxTokens === undefined ? undefined : Math.min(maxTokens, maxOutputTokens)
}
