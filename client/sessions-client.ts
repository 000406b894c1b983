import { methodsOf, type InnerListMethod, type KeyedOptions, type ListMethod, type Method } from './calls/methods.ts'
import type { CallPromise } from './calls/call-promise.ts'
import type { Call, CallOptions } from './calls/rpc-call.ts'
import { invalidArgument, isErrandError } from './client-error.ts'
import type { Input, Output } from './types/client-types.ts'
import type { AnyConfig, ChatAgentId, UnknownConfig } from './types/endpoint-types.ts'

export type CreateSessionOptions = KeyedOptions

export type CreateSessionInput<Config extends AnyConfig = UnknownConfig> = Omit<Input<'sessions.create'>, 'agentId'> & {
  agentId: ChatAgentId<Config>
}

/** Input for a session that your program can find again by an id of your choice, such as a document id. */
export type GetOrCreateSessionInput<Config extends AnyConfig = UnknownConfig> = Omit<
  CreateSessionInput<Config>,
  'continues'
> & {
  /** Your own id, stored in the session's tag `externalId`. */
  externalId: string
}

export type SessionsClient<Config extends AnyConfig = UnknownConfig> = {
  /**
   * Creates a session with an agent, free of charge.
   *
   * @example
   * const { sessionId } = await client.sessions.create({ agentId: 'assistant' })
   */
  create: (input: CreateSessionInput<Config>, options?: CreateSessionOptions) => CallPromise<Output<'sessions.create'>>
  /**
   * Returns the agent's active session with this external id. If there is none, creates it with the other fields. The
   * session that replaces an expired one continues its history. Concurrent calls return the same session.
   *
   * @example
   * const { sessionId } = await client.sessions.getOrCreate({ agentId: 'assistant', externalId: document.id })
   */
  getOrCreate: (input: GetOrCreateSessionInput<Config>, options?: CallOptions) => Promise<Output<'sessions.create'>>
  get: Method<'sessions.get'>
  /** Lists the caller's sessions, newest first. */
  list: ListMethod<'sessions.list'>
  /** Completes a session, which is irreversible, or changes individual metadata keys. */
  update: Method<'sessions.update'>
  /** Deletes a session and its messages. A chat in progress is stopped and charged for its usage so far. */
  delete: Method<'sessions.delete'>
  /** Lists the session's messages, oldest first. */
  messages: InnerListMethod<'sessions.messages'>
}

export function createSessionsClient(call: Call): SessionsClient {
  const sessions = methodsOf(call, 'sessions', {
    create: 'keyedChange',
    get: 'read',
    list: 'list',
    update: 'change',
    delete: 'change',
    messages: 'list',
  })
  return { ...sessions, getOrCreate: (input, options) => getOrCreate(sessions, input, options) }
}

/** Maximum length of a URL-encoded external id, which becomes part of the Idempotency-Key. */
const externalIdCharsMax = 180

async function getOrCreate(
  { create, list }: Pick<SessionsClient, 'create' | 'list'>,
  { externalId, ...input }: GetOrCreateSessionInput,
  options?: CallOptions,
): Promise<Output<'sessions.create'>> {
  const { agentId } = input
  const newest = async () => {
    for await (const session of list({ agentId, tag: [`externalId:${externalId}`], limit: 1 }, options)) return session
    return undefined
  }
  const active = (session: Awaited<ReturnType<typeof newest>>) =>
    session?.status === 'active'
      ? { sessionId: session.id, agentId, status: session.status, createdAt: session.createdAt }
      : undefined
  const encoded = encodeURIComponent(String(externalId).toWellFormed())
  if (encoded.length > externalIdCharsMax) {
    throw invalidArgument('externalId', `Must have at most ${externalIdCharsMax} characters when URL-encoded`)
  }
  const last = await newest()
  const found = active(last)
  if (found) return found
  const draft = {
    ...input,
    tags: { ...input.tags, externalId },
    ...(last?.status === 'expired' && { continues: last.id }),
  }
  try {
    const idempotencyKey = last ? `after_${last.id}` : `first_${agentId}_${encoded}`
    return await create(draft, { ...options, idempotencyKey })
  } catch (error) {
    if (!isErrandError(error) || error.code !== 'CONFLICT') throw error
    // Either a concurrent call with other fields created the session, or the session with this key was deleted.
    return active(await newest()) ?? (await create(draft, options))
  }
}
