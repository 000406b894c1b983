import { createAdminClients, type AdminClients } from './admin-client.ts'
import { createBillingClients, type BillingClients } from './billing-client.ts'
import { createMethods, type EasyMethod, type ListMethod, type Method } from './calls/methods.ts'
import { createCall } from './calls/rpc-call.ts'
import { createChatClient, type ChatClient } from './chat-client.ts'
import { connectionOf, toConnection, type ActingUser, type Connection, type ErrandClientOptions } from './connection.ts'
import { createConnectorsClient, type ConnectorsClient } from './connectors-client.ts'
import { createLoginClients, type LoginClients } from './login-client.ts'
import { createSessionsClient, type SessionsClient } from './sessions-client.ts'
import { createTasksClient, type TasksClient } from './tasks-client.ts'
import { createWebhooksClient, type WebhooksClient } from './webhooks-client.ts'

// The typed client of the service, for Node and browsers alike. Every method takes the input of its operation, then the
// options of the call.

export type { AdminClients } from './admin-client.ts'
export type { BillingClients } from './billing-client.ts'
export type { CallPromise, WithResponse } from './calls/call-promise.ts'
export type { ListPromise } from './calls/list-pages.ts'
export type {
  EasyMethod,
  InnerListMethod,
  KeyedMethod,
  KeyedOptions,
  ListMethod,
  Method,
  PlainMethod,
} from './calls/methods.ts'
export type { CallOptions } from './calls/rpc-call.ts'
export type { ChatClient, ChatReply, ChatToolCall } from './chat-client.ts'
export { ErrandClientError, isErrandError, type ClientErrorCode } from './client-error.ts'
export type {
  ActingUser,
  ClientFetch,
  ErrandClientOptions,
  RequestEvent,
  ResponseEvent,
  RetryEvent,
} from './connection.ts'
export type { ConnectorsClient } from './connectors-client.ts'
export { filePart, type ChatFilePart } from './calls/file-part.ts'
export type { FollowOptions, TaskEvents } from './streams/follow-task.ts'
export type { WebhooksClient } from './webhooks-client.ts'
export { newIdempotencyKey } from './idempotency-key.ts'
export type { LoginClients } from './login-client.ts'
export type { ChatOptions, ChatStream, ResumeOptions } from './streams/read-chat.ts'
export type { CreateSessionOptions, SessionsClient } from './sessions-client.ts'
export type {
  CreateOptions,
  CreateTaskInput,
  EndedTaskOf,
  RunOptions,
  TasksClient,
  WaitOptions,
} from './tasks-client.ts'
export type {
  Account,
  Agent,
  ChatEvent,
  ChatInput,
  ChatMessagePart,
  ChatUsage,
  Connector,
  ConnectorTool,
  ClientToken,
  CreatedClientToken,
  CreatedKey,
  CreatedPlatformKey,
  CreatedWebhook,
  EndedTask,
  EndpointId,
  EndpointParams,
  EndpointResponse,
  EndpointTypes,
  Invitation,
  Key,
  Login,
  Message,
  PlatformKey,
  Quote,
  Session,
  SessionListItem,
  System,
  Task,
  TaskEvent,
  TaskListItem,
  TaskProgress,
  Topup,
  Transaction,
  Usage,
  User,
  Webhook,
  WebhookDelivery,
} from './types/client-types.ts'

export type ErrandClient = LoginClients &
  AdminClients &
  BillingClients & {
    tasks: TasksClient
    sessions: SessionsClient
    chat: ChatClient
    connectors: ConnectorsClient
    webhooks: WebhooksClient
    /** Agents that the caller may run. */
    agents: {
      list: ListMethod<'agents.list'>
      get: Method<'agents.get'>
    }
    quotes: {
      /** What a task or a chat would cost; created with the `quoteId` within ten minutes, it costs that. */
      create: Method<'quotes.create'>
    }
    /** The account's API keys; needs the scope `manage`. */
    keys: {
      /** The key itself is in this answer and is never shown again. */
      create: Method<'keys.create'>
      list: ListMethod<'keys.list'>
      /** Changes its limits; what is left out stays, and null removes one. */
      update: Method<'keys.update'>
      /** Acts on the next request; repeating it changes nothing. */
      revoke: Method<'keys.revoke'>
      /** A new key with the same name, scopes and limits; the old one goes on working for `overlapSeconds`. */
      rotate: Method<'keys.rotate'>
    }
    /** What a browser is handed, for an hour at most. */
    clientTokens: {
      /** The token itself is in this answer and is never shown again. A browser's client has it as its `apiKey`. */
      create: EasyMethod<'clientTokens.create'>
      /** Acts on the next request; repeating it changes nothing. */
      revoke: Method<'clientTokens.revoke'>
    }
    /**
     * The same client in the name of a user, of a platform key with the scope `act`: by the product's own id of the
     * user, or `{ userId }`. Throws INVALID_ARGUMENT for what cannot be either.
     */
    asUser(user: ActingUser): ErrandClient
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
  return clientOn(toConnection(options))
}

function clientOn(connection: Connection): ErrandClient {
  const call = createCall(connection)
  const { change, easyChange, list, read } = createMethods(call)
  return {
    tasks: createTasksClient(call, connection),
    sessions: createSessionsClient(call),
    chat: createChatClient(connection, call),
    ...createLoginClients(call),
    ...createAdminClients(call),
    ...createBillingClients(call),
    connectors: createConnectorsClient(call),
    webhooks: createWebhooksClient(call),
    agents: { list: list('agents.list'), get: read('agents.get') },
    quotes: { create: change('quotes.create') },
    keys: {
      create: change('keys.create'),
      list: list('keys.list'),
      update: change('keys.update'),
      revoke: change('keys.revoke'),
      rotate: change('keys.rotate'),
    },
    clientTokens: { create: easyChange('clientTokens.create'), revoke: change('clientTokens.revoke') },
    asUser: (user) => clientOn(connectionOf(connection, user)),
  }
}
