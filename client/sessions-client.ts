import type { Inputs, Outputs } from './client-types.ts'
import { checkIdempotencyKey } from './idempotency-key.ts'
import type { Call, CallOptions } from './rpc-call.ts'

export type CreateSessionOptions = CallOptions & {
  /** Repeating a create with the same key and the same input within 24 hours answers the same session. */
  idempotencyKey?: string | undefined
}

type SessionsInputs = Inputs['sessions']
type SessionsOutputs = Outputs['sessions']

export type SessionsClient = {
  /**
   * Opens a conversation with an agent, free of charge.
   *
   * @example
   * const { sessionId } = await client.sessions.create({ agentId: 'assistant' })
   */
  create: (input: SessionsInputs['create'], options?: CreateSessionOptions) => Promise<SessionsOutputs['create']>
  get: (input: SessionsInputs['get'], options?: CallOptions) => Promise<SessionsOutputs['get']>
  /** One page of the caller's sessions, newest first. */
  list: (input?: SessionsInputs['list'], options?: CallOptions) => Promise<SessionsOutputs['list']>
  /** Completes a session, which cannot be undone, or changes its metadata key by key. */
  update: (input: SessionsInputs['update'], options?: CallOptions) => Promise<SessionsOutputs['update']>
  /** Deletes a session with its messages; a chat under way is stopped and charged for what it used. */
  delete: (input: SessionsInputs['delete'], options?: CallOptions) => Promise<SessionsOutputs['delete']>
  /** One page of a session's messages, oldest first. */
  messages: (input: SessionsInputs['messages'], options?: CallOptions) => Promise<SessionsOutputs['messages']>
}

export function createSessionsClient(call: Call): SessionsClient {
  return {
    create: async (input, { idempotencyKey, signal } = {}) => {
      if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey)
      return await call({ signal, idempotencyKey }, (rpc, options) => rpc.sessions.create.mutate(input, options))
    },
    get: (input, given) => call({ ...given }, (rpc, own) => rpc.sessions.get.query(input, own)),
    list: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.sessions.list.query(input, own)),
    update: (input, given) => call({ ...given }, (rpc, own) => rpc.sessions.update.mutate(input, own)),
    delete: (input, given) => call({ ...given }, (rpc, own) => rpc.sessions.delete.mutate(input, own)),
    messages: (input, given) => call({ ...given }, (rpc, own) => rpc.sessions.messages.query(input, own)),
  }
}
