import {
  createMethods,
  type InnerListMethod,
  type KeyedMethod,
  type KeyedOptions,
  type ListMethod,
  type Method,
} from './calls/methods.ts'
import type { Call } from './calls/rpc-call.ts'

export type CreateSessionOptions = KeyedOptions

export type SessionsClient = {
  /**
   * Creates a session with an agent, free of charge.
   *
   * @example
   * const { sessionId } = await client.sessions.create({ agentId: 'assistant' })
   */
  create: KeyedMethod<'sessions.create'>
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
  const { change, keyedChange, list, read } = createMethods(call)
  return {
    create: keyedChange('sessions.create'),
    get: read('sessions.get'),
    list: list('sessions.list'),
    update: change('sessions.update'),
    delete: change('sessions.delete'),
    messages: list('sessions.messages'),
  }
}
