import { createChatClient, type ChatClient } from './chat-client.ts'
import type { Inputs, Outputs } from './client-types.ts'
import { toConnection, type ErrandClientOptions } from './connection.ts'
import { createAdminClients, type AdminClients } from './admin-client.ts'
import { createConnectorsClient, type ConnectorsClient } from './connectors-client.ts'
import { createLoginClients, type LoginClients } from './login-client.ts'
import { createCall, type CallOptions } from './rpc-call.ts'
import { createSessionsClient, type SessionsClient } from './sessions-client.ts'
import { createTasksClient, type TasksClient } from './tasks-client.ts'

// The typed client of the service, for Node and browsers alike. Every method takes the input of its operation, then the
// options of the call.

export type { ChatClient, ChatReply, ChatToolCall } from './chat-client.ts'
export { ErrandClientError, type ClientErrorCode } from './client-error.ts'
export { newIdempotencyKey } from './idempotency-key.ts'
export type {
  Account,
  Agent,
  ChatEvent,
  ChatInput,
  ChatUsage,
  Connector,
  ConnectorTool,
  CreatedKey,
  EndedTask,
  Invitation,
  Key,
  Login,
  Message,
  Session,
  SessionListItem,
  System,
  Task,
  TaskListItem,
  Transaction,
  Usage,
  User,
} from './client-types.ts'
export type { ConnectorsClient } from './connectors-client.ts'
export type { AdminClients } from './admin-client.ts'
export type { LoginClients } from './login-client.ts'
export type { ClientFetch, ErrandClientOptions } from './connection.ts'
export type { ChatStream } from './read-chat.ts'
export type { CallOptions } from './rpc-call.ts'
export type { CreateSessionOptions, SessionsClient } from './sessions-client.ts'
export type { CreateOptions, TasksClient, WaitOptions } from './tasks-client.ts'

export type ErrandClient = LoginClients &
  AdminClients & {
    tasks: TasksClient
    sessions: SessionsClient
    chat: ChatClient
    connectors: ConnectorsClient
    /** Agents that the caller may run. */
    agents: {
      list: (input?: Inputs['agents']['list'], options?: CallOptions) => Promise<Outputs['agents']['list']>
      get: (input: Inputs['agents']['get'], options?: CallOptions) => Promise<Outputs['agents']['get']>
    }
    account: {
      /** The caller's account with its balance. */
      get: (options?: CallOptions) => Promise<Outputs['account']['get']>
      /** What the account spent on each of the last days. */
      usage: (input?: Inputs['account']['usage'], options?: CallOptions) => Promise<Outputs['account']['usage']>
      /** Needs a browser login, and ends all others of the account. */
      changePassword: (
        input: Inputs['account']['changePassword'],
        options?: CallOptions,
      ) => Promise<Outputs['account']['changePassword']>
    }
    transactions: {
      /** One page of charges, refunds and credits, newest first. */
      list: (input?: Inputs['transactions']['list'], options?: CallOptions) => Promise<Outputs['transactions']['list']>
    }
    /** The account's API keys; needs the scope `manage`. */
    keys: {
      /** The key itself is in this answer and is never shown again. */
      create: (input: Inputs['keys']['create'], options?: CallOptions) => Promise<Outputs['keys']['create']>
      list: (input?: Inputs['keys']['list'], options?: CallOptions) => Promise<Outputs['keys']['list']>
      /** Acts on the next request; repeating it changes nothing. */
      revoke: (input: Inputs['keys']['revoke'], options?: CallOptions) => Promise<Outputs['keys']['revoke']>
      /** A new key with the same name and scopes; the old one goes on working for `overlapSeconds`. */
      rotate: (input: Inputs['keys']['rotate'], options?: CallOptions) => Promise<Outputs['keys']['rotate']>
    }
  }

/**
 * A client of one service in the name of one API key. Throws INVALID_ARGUMENT for options that cannot work; makes no
 * request by itself.
 *
 * @example
 * const client = createClient({ baseUrl: 'https://errand.example.com', apiKey })
 * const task = await client.tasks.run({ endpointId: 'text.summarize', params: { text } })
 * console.log(task.status, task.response)
 */
export function createClient(options: ErrandClientOptions): ErrandClient {
  const connection = toConnection(options)
  const call = createCall(connection)
  return {
    tasks: createTasksClient(call),
    sessions: createSessionsClient(call),
    chat: createChatClient(connection),
    ...createLoginClients(call),
    ...createAdminClients(call),
    connectors: createConnectorsClient(call),
    agents: {
      list: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.agents.list.query(input, own)),
      get: (input, given) => call({ ...given }, (rpc, own) => rpc.agents.get.query(input, own)),
    },
    account: {
      get: (given) => call({ ...given }, (rpc, own) => rpc.account.get.query({}, own)),
      usage: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.account.usage.query(input, own)),
      changePassword: (input, given) => call({ ...given }, (rpc, own) => rpc.account.changePassword.mutate(input, own)),
    },
    transactions: {
      list: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.transactions.list.query(input, own)),
    },
    keys: {
      create: (input, given) => call({ ...given }, (rpc, own) => rpc.keys.create.mutate(input, own)),
      list: (input = {}, given) => call({ ...given }, (rpc, own) => rpc.keys.list.query(input, own)),
      revoke: (input, given) => call({ ...given }, (rpc, own) => rpc.keys.revoke.mutate(input, own)),
      rotate: (input, given) => call({ ...given }, (rpc, own) => rpc.keys.rotate.mutate(input, own)),
    },
  }
}
