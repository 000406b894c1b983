import type { z } from 'zod'
import { isVisibleTo, type Catalogue } from '../../agents/config/catalogue.ts'
import { requireAgent, type Caller } from '../../procedures/caller.ts'
import { chatTaker, type ConnectorAccess } from '../../connectors/connector-access.ts'
import { unreachable } from '../../kernel/assert.ts'
import { hashJson } from '../../kernel/canonical-json.ts'
import { isoTime, type Clock } from '../../kernel/clock.ts'
import { badField, ErrandError } from '../../kernel/errors.ts'
import { newId } from '../../kernel/ids.ts'
import { tagsTooLarge } from '../../kernel/wire-types.ts'
import { nextOf, readRange } from '../../store/list-place.ts'
import { formatUsd, parseUsd, type Units } from '../../kernel/money.ts'
import { emptySessionsMax, keyedSessionsMax, metadataBytesMax, sessionsMax } from '../../store/limits/account-bounds.ts'
import type { PayloadStore } from '../../payloads/payload-store.ts'
import type { SignedLinks } from '../../payloads/signed-links.ts'
import type { Store } from '../../store/store.ts'
import type { Idempotency } from '../../store/tasks/task-types.ts'
import type {
  CreateSessionResult,
  MessagePart,
  MessageRecord,
  SessionRecord,
} from '../../store/sessions/session-types.ts'
import { connectorIdsKey, connectorIdsOf } from './session-connectors.ts'
import type {
  CreateSessionInput,
  CreateSessionOutput,
  ListMessagesInput,
  ListMessagesOutput,
  ListSessionsInput,
  ListSessionsOutput,
  Session,
  UpdateSessionInput,
} from './session-schema.ts'

const deleteMsMax = 10_000
const removedAtOnce = 4

export type SessionParts = {
  access: ConnectorAccess
  catalogue: Catalogue
  chats: { stopSession: (of: { sessionId: string }) => Promise<void> }
  clock: Clock
  links: SignedLinks
  payloads: PayloadStore
  store: Store
}
type Create = {
  caller: Caller
  input: z.output<typeof CreateSessionInput>
  idempotencyKey: string | null
  /** Whether the OpenAI-compatible Responses API creates the session. */
  isResponse?: boolean
}

export async function createSession(
  { access, catalogue, clock, payloads, store }: SessionParts,
  { caller, idempotencyKey, input, isResponse = false }: Create,
): Promise<z.output<typeof CreateSessionOutput>> {
  const { agentId, tags = {} } = input
  const metadata = withConnectors(input)
  // Check the size first, because hashing takes longer.
  if (Buffer.byteLength(JSON.stringify(metadata)) > metadataBytesMax) throw metadataTooLarge()
  const idempotency = idempotencyKey === null ? null : { key: idempotencyKey, bodyHash: hashJson(input) }
  if (idempotency) {
    const replayed = await findReplay(store, caller.userId, idempotency)
    if (replayed) return created(replayed)
  }
  const agent = catalogue.agent(agentId)
  if (!agent || !isVisibleTo(agent, caller.email))
    throw new ErrandError('NOT_FOUND', 'Agent not found. GET /api/agents lists the available agents.')
  requireAgent(caller, agentId)
  if (!agent.chat) throw badField('agentId', "Must be an agent that supports chat. Run this agent's endpoints as tasks")
  const of = {
    taker: chatTaker(agentId, agent),
    path: input.connectorIds ? connectorIdsKey : `metadata.${connectorIdsKey}`,
    userId: caller.userId,
  }
  await access.assertOwned(connectorIdsOf(metadata), of)
  const { continues } = input
  const earlier = continues === undefined ? null : await continuable(store, { agentId, caller, continues })
  const result = await store.createSession({
    sessionId: newId('ses', clock.now()),
    userId: caller.userId,
    agentId,
    metadata,
    tags: Object.keys(tags).length === 0 ? null : tags,
    title: input.title ?? earlier?.title ?? null,
    continues: earlier?.id ?? null,
    maxCost: input.maxCostUsd === undefined ? null : parseUsd(input.maxCostUsd)!,
    isResponse,
    idempotency,
  })
  if (result.outcome === 'refused') throw createRefusal(result.reason)
  if (result.outcome === 'created') await removeFiles(payloads, result.files)
  return created(result.session)
}

export async function continuable(
  store: Store,
  { agentId, caller, continues }: { agentId: string; caller: Caller; continues: string },
): Promise<SessionRecord> {
  const session = await store.getSession({ userId: caller.userId, sessionId: continues })
  if (!session) throw sessionNotFound()
  if (session.agentId !== agentId) throw badField('continues', `Must be a session of the agent ${agentId}`)
  if (session.status === 'active') throw badField('continues', 'Must be an expired or completed session')
  return session
}

/** Stores the session's connector ids in its metadata, whether they were sent in `connectorIds` or in `metadata`. */
function withConnectors({ connectorIds, metadata = {} }: z.output<typeof CreateSessionInput>): Record<string, unknown> {
  if (!connectorIds) return metadata
  if (Object.hasOwn(metadata, connectorIdsKey)) {
    throw badField(connectorIdsKey, 'Must be sent either here or in metadata, but not in both')
  }
  return { ...metadata, [connectorIdsKey]: connectorIds }
}

/**
 * Returns the session that an earlier request with the same idempotency key created, even if its agent has since been
 * changed or removed.
 */
async function findReplay(
  store: Store,
  userId: string,
  { bodyHash, key }: Idempotency,
): Promise<SessionRecord | undefined> {
  const earlier = await store.findIdempotent({ userId, operation: 'createSession', key })
  if (!earlier) return undefined
  const session = await store.getSession({ userId, sessionId: earlier.resourceId })
  if (!session || earlier.bodyHash !== bodyHash) throw keyUsed()
  return session
}

function created({ agentId, createdAt, id }: SessionRecord): z.output<typeof CreateSessionOutput> {
  return { sessionId: id, agentId, status: 'active', createdAt: isoTime(createdAt) }
}

type CreateRefusal = Extract<CreateSessionResult, { outcome: 'refused' }>['reason']

function createRefusal(reason: CreateRefusal): ErrandError {
  switch (reason) {
    case 'idempotency-conflict':
      return keyUsed()
    case 'too-many':
      return new ErrandError(
        'CONFLICT',
        `This account already has ${sessionsMax} sessions, the maximum. Delete some of them first.`,
      )
    case 'too-many-empty':
      return new ErrandError(
        'CONFLICT',
        `This account already has ${emptySessionsMax} sessions without messages, the maximum. Use or delete some of them first.`,
      )
    case 'too-many-keyed':
      return new ErrandError(
        'CONFLICT',
        `This account already created ${keyedSessionsMax} sessions with an Idempotency-Key in the last 24 hours, the maximum. Omit the key or retry later.`,
      )
    default:
      return unreachable(reason)
  }
}

function keyUsed(): ErrandError {
  return new ErrandError('CONFLICT', 'This Idempotency-Key was already used for a different session. Send a new key.')
}

export async function getSession(store: Store, of: { userId: string; sessionId: string }): Promise<Session> {
  const session = await store.getSession(of)
  if (!session) throw sessionNotFound()
  return toSession(session)
}

export async function updateSession(
  { access, catalogue, store }: SessionParts,
  { caller, input }: { caller: Caller; input: z.output<typeof UpdateSessionInput> },
): Promise<Session> {
  const { userId } = caller
  const { maxCostUsd, metadata = {}, sessionId, status, tags = {}, title } = input
  const connectorIds = connectorIdsOf(metadata)
  if (connectorIds.length > 0 || caller.agents !== null) {
    const session = await store.getSession({ userId, sessionId })
    if (!session) throw sessionNotFound()
    requireAgent(caller, session.agentId)
    const taker = chatTaker(session.agentId, catalogue.agent(session.agentId))
    await access.assertOwned(connectorIds, { taker, path: `metadata.${connectorIdsKey}`, userId })
  }
  const result = await store.updateSession({
    userId,
    sessionId,
    complete: status === 'completed',
    activate: status === 'active',
    metadata,
    tags,
    ...(title !== undefined && { title }),
    ...(maxCostUsd !== undefined && { maxCost: maxCostUsd === null ? null : parseUsd(maxCostUsd)! }),
  })
  if (result.outcome === 'updated') return toSession(result.session)
  if (result.reason === 'metadata-too-large') throw metadataTooLarge()
  if (result.reason === 'tags-too-large') throw badField('tags', tagsTooLarge)
  throw result.reason === 'cap-too-low' ? capTooLow(result.least) : sessionRefusal(result.reason)
}

export async function listSessions(
  store: Store,
  { input, userId }: { input: z.output<typeof ListSessionsInput>; userId: string },
): Promise<z.output<typeof ListSessionsOutput>> {
  const { agentId, limit, offset, order, search, status, tag } = input
  if (order === 'active' && (input.createdAfter ?? input.createdBefore) !== undefined) {
    throw badField('order', 'Must be "created" if createdAfter or createdBefore is set')
  }
  const { list, range } = readRange('sessions', userId, input)
  const filters = {
    ...(status !== undefined && { status }),
    ...(agentId !== undefined && { agentId }),
    ...(search !== undefined && { search }),
    ...(order !== undefined && { order }),
    ...(tag && { tags: tag }),
  }
  const query = { userId, ...filters, ...range, limit, offset }
  const { next, sessions, total } = await store.listSessions(query)
  const items = sessions.map(({ createdAt, tags, title, updatedAt, ...session }) => ({
    ...session,
    ...(title !== null && { title }),
    ...(tags && { tags }),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }))
  return { sessions: items, total, limit, offset, ...nextOf(next, list) }
}

/** Deletes a session. If a turn is in progress, it is stopped and settled first. */
export async function deleteSession(
  { chats, payloads, store }: SessionParts,
  { caller, sessionId }: { caller: Pick<Caller, 'agents' | 'userId'>; sessionId: string },
): Promise<void> {
  const of = { userId: caller.userId, sessionId }
  if (caller.agents !== null) {
    const session = await store.getSession(of)
    if (!session) throw sessionNotFound()
    requireAgent(caller, session.agentId)
  }
  const until = performance.now() + deleteMsMax
  while (performance.now() < until) {
    const deleted = await store.deleteSession(of)
    if (deleted.outcome === 'deleted') return await removeFiles(payloads, deleted.files)
    if (deleted.outcome === 'unknown') throw sessionNotFound()
    await chats.stopSession(of)
  }
  throw new ErrandError('SERVICE_UNAVAILABLE', 'A turn of this session is still being settled. Try again.', {
    retryAfterSeconds: 5,
  })
}

async function removeFiles(payloads: PayloadStore, ids: readonly string[]): Promise<void> {
  for (let first = 0; first < ids.length; first += removedAtOnce) {
    await Promise.all(ids.slice(first, first + removedAtOnce).map((id) => payloads.release(id, true)))
  }
}

export function sessionRefusal(reason: 'unknown' | 'expired' | 'completed'): ErrandError {
  switch (reason) {
    case 'unknown':
      return sessionNotFound()
    case 'expired':
      return new ErrandError('SESSION_EXPIRED', 'The session has expired. Create a new one.')
    case 'completed':
      return new ErrandError('SESSION_COMPLETED', 'The session is completed. Create a new one.')
    default:
      return unreachable(reason)
  }
}

export async function listMessages(
  { links, store }: SessionParts,
  { input, userId }: { input: z.output<typeof ListMessagesInput> & { bytesMax: number }; userId: string },
): Promise<z.output<typeof ListMessagesOutput>> {
  const found = await store.listMessages({ ...input, userId })
  if (!found) throw sessionNotFound()
  return {
    messages: found.messages.map((message) => toMessage(message, links)),
    total: found.total,
    limit: input.limit,
    offset: input.offset,
  }
}

function toMessage(
  { createdAt, isTruncated, parts, replaces, toolCalls, ...message }: MessageRecord,
  links: SignedLinks,
) {
  return {
    ...message,
    ...(parts && { parts: parts.map((part) => toPart(part, links)) }),
    ...(toolCalls.length > 0 && { toolCalls }),
    ...(isTruncated && { truncated: true }),
    ...(replaces !== null && { replaces }),
    createdAt: isoTime(createdAt),
  }
}

function toPart(part: MessagePart, links: SignedLinks) {
  if (part.type === 'text') return part
  const { tokens: _tokens, tokensMax: _most, ...file } = part
  return { ...file, url: links.create(part.payloadId) }
}

function toSession({
  continues,
  createdAt,
  maxCost,
  spent,
  tags,
  title,
  updatedAt,
  ...session
}: SessionRecord): Session {
  return {
    ...session,
    ...(title !== null && { title }),
    ...(continues !== null && { continues }),
    ...(tags && { tags }),
    ...(maxCost !== null && { maxCostUsd: formatUsd(maxCost) }),
    spentUsd: formatUsd(spent),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  }
}

function capTooLow(least: Units): ErrandError {
  const message = `maxCostUsd is too low, because the session's charges and holds are ${formatUsd(least)} USD. Send at least that amount.`
  return new ErrandError('CONFLICT', message)
}

export function sessionNotFound(): ErrandError {
  return new ErrandError('NOT_FOUND', 'Session not found. Check the id.')
}

function metadataTooLarge(): ErrandError {
  return badField('metadata', 'Must be at most 16 KB of JSON')
}
