import { requireScope, type Caller } from '../../../procedures/caller.ts'
import type { RoutedRequest } from '../../../http/routed-request.ts'
import type { OpenaiParts } from '../openai-parts.ts'
import { collectReply } from '../collect-reply.ts'
import { resolveReferences } from '../input/item-references.ts'
import { parseInput } from '../input/parse-input.ts'
import { messageNames, readMessages, type WireMessage } from '../input/read-messages.ts'
import { readFormat } from '../input/response-format.ts'
import { ResponseInput } from '../input/response-input.ts'
import { readSampling } from '../input/sampling.ts'
import { modelOf, type ModelAgent } from '../models.ts'
import { endOf } from '../reply-end.ts'
import { continuedSession, newSession, unstoredSession, type ReplyPlace } from '../reply-session.ts'
import { callerOf, sessionOf, startReply, type Reply } from '../start-reply.ts'
import { badParam } from '../wire-error.ts'
import { answerReply, streamReply } from '../write-reply.ts'
import { responseTurn } from './read-response.ts'
import { ResponseEvents } from './response-events.ts'
import { toResponse, type ResponseRequest } from './response-resource.ts'

/**
 * Handles POST /v1/responses. Starts a turn in a new session, or in the session that the request continues. There is no
 * session if the client stores the conversation itself, as indicated by `store` or by earlier messages.
 */
export async function createResponse(wire: OpenaiParts, routed: RoutedRequest, body: unknown): Promise<void> {
  const caller = callerOf(routed)
  const ofHeader = sessionOf(routed)
  const input = parseInput(ResponseInput, body)
  const { instructions, max_output_tokens: maxTokens, model, previous_response_id: previousId, temperature } = input
  const agent = modelOf({ caller, catalogue: wire.catalogue }, model)
  const items = typeof input.input === 'string' ? [{ role: 'user', content: input.input }] : input.input
  const resolved = await resolveReferences(wire, { caller, items })
  const { earlier, message } = readMessages(resolved.items, { param: 'input', chat: agent.chat })
  const responseFormat = readFormat(input.text?.format, { chat: agent.chat, param: 'text.format' })
  const session = (await continuedOf(wire, { caller, ofHeader, input })) ?? referencedOf(input, resolved.sessionId)
  const isKept =
    session !== undefined || isKeptBy(input, !resolved.hasReferences && earlier.some(({ role }) => role !== 'system'))
  const place = await placeOf(wire, { agent, caller, input, isKept, session })
  const isBackground = input.background === true
  const told = [
    ...instructed(instructions),
    ...earlier.filter(({ role }) => session === undefined || role === 'system'),
  ]
  let sessionId: string | null = null
  const open = async () => {
    const opened = await place.open()
    if (isKept) ({ sessionId } = opened)
    const onRefused = async () => {
      // The session that `open` created is about to be deleted. If another copy of the request was admitted, its reply
      // belongs to another session.
      sessionId = null
      await opened.onRefused?.()
    }
    return { ...opened, onRefused }
  }
  const createdAt = wire.clock.now()
  const reply = await startReply(wire, routed, {
    body,
    message: message.content,
    params: {
      ...(typeof temperature === 'number' && { temperature }),
      ...(typeof maxTokens === 'number' && { maxTokens: Math.min(maxTokens, agent.chat.maxOutputTokens) }),
    },
    setting: { ...place.setting, earlier: told, ...(responseFormat && { responseFormat }), ...readSampling(input) },
    open,
    names: {
      ...messageNames({ earlier: told, message }, 'input'),
      ...(typeof input.input === 'string' && { message: 'input' }),
      'params.maxTokens': 'max_output_tokens',
    },
    onDisconnect: isBackground ? 'continue' : 'stop',
  })
  const asked: ResponseRequest = {
    model,
    sessionId: sessionId ?? (isKept ? await keptIn(wire, { caller, turnId: reply.turnId }) : null),
    instructions: instructions ?? null,
    previousId: previousId ?? null,
    temperature: temperature ?? null,
    ...readSampling(input),
    maxTokens: maxTokens ?? null,
    metadata: input.metadata ?? {},
    format: (input.text?.format as object | null | undefined) ?? { type: 'text' },
    isBackground,
  }
  const newSessionId = session === undefined ? sessionId : null
  await answer(wire, routed, { reply, asked, createdAt, isStream: input.stream === true, newSessionId })
}

function instructed(instructions: string | null | undefined): WireMessage[] {
  if (typeof instructions !== 'string' || instructions === '') return []
  return [{ role: 'system', content: instructions, param: 'instructions', files: [] }]
}

type Answer = {
  reply: Reply
  asked: ResponseRequest
  createdAt: number
  isStream: boolean
  newSessionId: string | null
}

async function answer(wire: OpenaiParts, routed: RoutedRequest, of: Answer): Promise<void> {
  const { asked, createdAt, isStream, newSessionId, reply } = of
  const { clock, store } = wire
  const { userId } = callerOf(routed)
  const { turnId } = reply
  if (isStream) {
    const events = new ResponseEvents({ turnId, asked, createdAt })
    return await streamResponse(wire, routed, { events, reply })
  }
  if (asked.isBackground) {
    reply.detach()
    return await answerReply(routed, toResponse({ turnId, asked, createdAt, ended: null }), { turnId })
  }
  const whole = await collectReply(reply, { store, userId })
  if (!whole) return
  const { end, parts } = whole
  if (end.error) {
    if (newSessionId !== null) await removeEmpty(store, { userId, sessionId: newSessionId })
    throw end.error
  }
  const response = toResponse({ turnId, asked, createdAt, ended: { end, parts, at: clock.now() } })
  await answerReply(routed, response, { turnId, costUsd: end.costUsd })
}

/** Deletes a session whose only reply failed. The client never received its id. */
async function removeEmpty(store: OpenaiParts['store'], of: { userId: string; sessionId: string }): Promise<void> {
  const session = await store.getSession(of)
  if (session?.messageCount === 0) await store.deleteSession(of)
}

type Stream = { events: ResponseEvents; reply: Reply }

export async function streamResponse(
  wire: OpenaiParts,
  routed: RoutedRequest,
  { events, reply }: Stream,
): Promise<void> {
  const { stallMs, store } = wire
  const { userId } = callerOf(routed)
  const finish = async () => {
    if (!events.end) return ''
    const end = await endOf(events.end, { store, userId, turnId: reply.turnId, hasText: events.hasText })
    return `${events.finish(end, Date.parse(events.end.timestamp))}data: [DONE]\n\n`
  }
  const translation = { begin: () => events.begin(), write: (lines: string) => events.write(lines), finish }
  await streamReply(routed, { reply, stallMs, translation })
}

/**
 * Whether to store the response to a request that does not continue a stored conversation. A request with earlier
 * messages is not stored, because they would be missing from the session.
 */
function isKeptBy({ background, store }: ResponseInput, hasEarlier: boolean): boolean {
  if (store === false && background === true) throw badParam('background', 'Must be omitted if store is false')
  if (hasEarlier && store === true) {
    throw badParam(
      'store',
      'Must be false if the input has earlier messages. To store the conversation, send only the last message and previous_response_id',
    )
  }
  if (hasEarlier && background === true) {
    throw badParam(
      'background',
      'Must be false if the input has earlier messages, because such a response is not stored',
    )
  }
  return store !== false && !hasEarlier
}

/** A request that must not be stored cannot continue a session. */
function referencedOf({ store }: ResponseInput, sessionId: string | undefined): string | undefined {
  return store === false ? undefined : sessionId
}

type Continued = { caller: Caller; ofHeader: string | undefined; input: ResponseInput }

/** Returns the session to continue, or undefined. A request can name it in three ways. */
async function continuedOf(wire: OpenaiParts, { caller, input, ofHeader }: Continued): Promise<string | undefined> {
  const { conversation, previous_response_id: previousId, store } = input
  const named = typeof conversation === 'string' ? conversation : conversation?.id
  const given = [ofHeader, named, previousId ?? undefined].filter((one) => one !== undefined)
  if (given.length === 0) return undefined
  if (given.length > 1)
    throw badParam(
      'previous_response_id',
      'Must be the only one of previous_response_id, conversation and the Errand-Session header',
    )
  if (store === false) throw badParam('store', 'Must not be false when you continue a stored conversation')
  if (typeof previousId !== 'string') return given[0]
  const { sessionId, turnId } = await responseTurn(wire, { caller, id: previousId, param: 'previous_response_id' })
  const { messageCount = 0 } = (await wire.store.getSession({ userId: caller.userId, sessionId })) ?? {}
  const last = { sessionId, userId: caller.userId, limit: 1, offset: Math.max(0, messageCount - 1) }
  const { messages = [] } = (await wire.store.listMessages(last)) ?? {}
  if (messages[0]?.turnId === turnId) return sessionId
  throw badParam('previous_response_id', 'Must be the last successful response in its conversation')
}

type Place = { agent: ModelAgent; caller: Caller; input: ResponseInput; isKept: boolean; session: string | undefined }

async function placeOf(wire: OpenaiParts, { agent, caller, input, isKept, session }: Place): Promise<ReplyPlace> {
  const { conversation, metadata, model } = input
  const param = conversation === undefined || conversation === null ? undefined : 'conversation'
  if (session !== undefined) return await continuedSession(wire, { caller, sessionId: session, model, param })
  if (!isKept) return unstoredSession(wire, model)
  requireScope(caller, 'execute')
  return newSession(wire, { agent, caller, metadata: metadata ?? {} })
}

async function keptIn(
  wire: OpenaiParts,
  { caller, turnId }: { caller: Caller; turnId: string },
): Promise<string | null> {
  const turn = await wire.store.turnEvents.findTurn({ userId: caller.userId, turnId })
  return turn?.sessionId ?? null
}
