import type { SessionRecord } from '../store/sessions/session-types.ts'
import type { z } from 'zod'
import { isVisibleTo, type Agent, type Catalogue, type Chat } from '../agents/config/catalogue.ts'
import { requireAgent, type Caller } from '../procedures/caller.ts'
import { chatTaker, type ConnectorAccess } from '../connectors/connector-access.ts'
import { ErrandError } from '../kernel/errors.ts'
import type { Place } from '../kernel/fair-places.ts'
import { connectorIdsOf } from './sessions/session-connectors.ts'
import { continuable, sessionNotFound, sessionRefusal } from './sessions/session-operations.ts'
import type { Store } from '../store/store.ts'
import type { RequestTrace } from '../kernel/tracing/request-trace.ts'
import type { ChatInput } from './chat-schema.ts'
import { hasFiles, readMessage, requestFilesMax, type DraftParts, type MessageDraft } from './files/message-draft.ts'
import {
  charsOf,
  checkEarlier,
  checkSize,
  largeMessageChars,
  type EarlierDraft,
  type MessageSetting,
} from './message-input.ts'

export type Ask = {
  about: RequestTrace
  caller: Caller
  input: z.output<typeof ChatInput>
  setting?: MessageSetting
  /** Resolves in a separate event-loop tick. Awaited before the tokens of a large message are counted. */
  onLarge: () => Promise<void>
}

type Weighing = Ask & {
  place: Place
  /** Whether the message is only priced for a quote and will not be sent. If so, its stored files are not read. */
  isOnlyWeighed?: boolean
  /** Called before the message's files are loaded. Throws if the message is rejected regardless of its files. */
  beforeFiles?: (to: { agent: Agent; chat: Chat }) => Promise<void>
}

/** A validated message and its recipient. */
export type Admissible = {
  agent: Agent
  chat: Chat
  connectorIds: string[]
  /** Id of the continued session. Its history precedes that of `session`, or of the session to start. */
  continues: string | null
  draft: MessageDraft
  earlier: readonly EarlierDraft[]
  session: SessionRecord | undefined
}

type Parts = DraftParts & { access: ConnectorAccess; catalogue: Catalogue; store: Store }

/**
 * Validates a message and reads its files. The recipient is the session's agent, or the agent in `setting`. Throws if
 * the message cannot be sent to this agent.
 */
export async function admissible(parts: Parts, of: Weighing): Promise<Admissible> {
  const { about, beforeFiles, caller, input, isOnlyWeighed = false, onLarge, place, setting } = of
  const { access, catalogue, store } = parts
  const { userId } = caller
  const { sessionId } = input
  const session = setting?.agentId === undefined ? await store.getSession({ userId, sessionId }) : undefined
  const agentId = session?.agentId ?? setting?.agentId
  if (agentId === undefined) throw sessionNotFound()
  if (session) about.sessionId = sessionId
  if (session && session.status !== 'active') throw sessionRefusal(session.status)
  const agent = catalogue.agent(agentId)
  const chat = agent?.chat
  if (!agent || !chat || !isVisibleTo(agent, caller.email)) {
    throw new ErrandError(
      'NOT_FOUND',
      `The agent ${agentId} is no longer available. Create a session with another agent.`,
    )
  }
  requireAgent(caller, agent.id)
  const { continues } = setting ?? {}
  const continued = continues === undefined ? undefined : await continuable(store, { agentId, caller, continues })
  if (charsOf(input, setting) > largeMessageChars) await onLarge()
  const said = setting?.earlier ?? []
  if ([input.message, ...said.map(({ content }) => content)].some(hasFiles)) await beforeFiles?.({ agent, chat })
  const left = { files: requestFilesMax, bytes: parts.limits.messageFileBytesMax }
  const ofMessage = { caller, chat, isOnlyWeighed, left, onLarge, place }
  const draft = await readMessage(input.message, { ...ofMessage, path: 'message' }, parts)
  checkSize(chat, { ...draft, params: input.params })
  const earlier: EarlierDraft[] = []
  for (const [index, { content, role }] of said.entries()) {
    earlier.push({ role, draft: await readMessage(content, { ...ofMessage, path: `messages[${index}]` }, parts) })
  }
  checkEarlier(chat, { draft, earlier })
  const connectorIds = session ? connectorIdsOf(session.metadata) : [...(setting?.connectorIds ?? [])]
  const taker = chatTaker(agent.id, agent)
  await access.assertOwned(connectorIds, { taker, path: session ? 'sessionId' : 'connectorIds', userId })
  return { agent, chat, connectorIds, continues: session?.continues ?? continued?.id ?? null, draft, earlier, session }
}
