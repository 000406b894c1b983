import type { Caller } from '../../procedures/caller.ts'
import { foreseeRefusal } from '../../chat/foresee-refusal.ts'
import type { MessageSetting } from '../../chat/message-input.ts'
import { newId } from '../../kernel/ids.ts'
import type { OpenaiParts } from './openai-parts.ts'
import { createSession } from '../../chat/sessions/session-operations.ts'
import type { ModelAgent } from './models.ts'
import type { ReplyAsk } from './start-reply.ts'
import { badParam, WireError } from './wire-error.ts'

/** The session that a reply belongs to: a stored session, or just an id that is never stored. */
export type ReplyPlace = { open: ReplyAsk['open']; setting: Pick<MessageSetting, 'agentId'> }

/** Creates a session id without storing a session. The reply leaves only a receipt. */
export function unstoredSession({ clock }: OpenaiParts, agentId: string): ReplyPlace {
  const sessionId = newId('ses', clock.now())
  return { open: () => Promise.resolve({ sessionId }), setting: { agentId } }
}

/** `param` is the request field that identifies the session, or undefined for the `Errand-Session` header. */
type Continued = { caller: Caller; sessionId: string; model: string; param?: string | undefined }

export async function continuedSession(
  { store }: OpenaiParts,
  { caller, model, param, sessionId }: Continued,
): Promise<ReplyPlace> {
  const session = await store.getSession({ userId: caller.userId, sessionId })
  if (!session)
    throw new WireError('NOT_FOUND', 'Session not found. Check the id.', param === undefined ? {} : { param })
  if (session.agentId !== model) throw badParam('model', `Must be ${session.agentId}, the session's agent`)
  return { open: () => Promise.resolve({ sessionId }), setting: {} }
}

type New = { caller: Caller; agent: ModelAgent; metadata: Record<string, string> }

/** Creates a session for the reply. The session is deleted if the reply is not admitted. */
export function newSession({ sessions, store }: OpenaiParts, { agent, caller, metadata }: New): ReplyPlace {
  const { chat, id: agentId } = agent
  const open = async () => {
    // Check the limits first, so that rejected requests cannot cause unlimited writes.
    await foreseeRefusal(store, { agentId, caller, chat })
    const input = { agentId, metadata }
    const { sessionId } = await createSession(sessions, { caller, input, idempotencyKey: null, isResponse: true })
    const onRefused = async () => void (await store.deleteSession({ userId: caller.userId, sessionId }))
    return { sessionId, onRefused }
  }
  return { open, setting: {} }
}
