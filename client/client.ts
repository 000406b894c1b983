import { createAdminClients, type AdminClients } from './admin-client.ts'
import { createBillingClients, type BillingClients } from './billing-client.ts'
import type { CallPromise } from './calls/call-promise.ts'
import { methodsOf, type EasyMethod, type ListMethod, type Method } from './calls/methods.ts'
import { createCall, type CallOptions } from './calls/rpc-call.ts'
import { createChatClient, type ChatClient } from './chat-client.ts'
import { connectionOf, toConnection, type ActingUser, type Connection, type ErrandClientOptions } from './connection.ts'
import { createConnectorsClient, type ConnectorsClient } from './connectors-client.ts'
import { createLoginClients, type LoginClients } from './login-client.ts'
import { createSessionsClient, type SessionsClient } from './sessions-client.ts'
import { createTasksClient, type CreateQuoteInput, type TasksClient } from './tasks-client.ts'
import type { Output } from './types/client-types.ts'
import type { AnyConfig, EndpointId, UnknownConfig } from './types/endpoint-types.ts'
import { createWebhooksClient, type WebhooksClient } from './webhooks-client.ts'

// Typed client for the service. Runs in Node and in browsers. Every method takes the operation's input, followed by the
// call options.

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
export type {
  CreateSessionInput,
  CreateSessionOptions,
  GetOrCreateSessionInput,
  SessionsClient,
} from './sessions-client.ts'
export type {
  CreateOptions,
  CreateQuoteInput,
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
  ErrorCode,
  ErrorDetail,
  EndedTask,
  Invitation,
  Mail,
  Key,
  Login,
  Message,
  Mutations,
  Owner,
  PlatformKey,
  PlatformKeyDetails,
  Queries,
  Quote,
  Session,
  SessionListItem,
  AuditAct,
  Economics,
  System,
  Task,
  TaskEvent,
  TaskListItem,
  TaskProgress,
  Topup,
  Transaction,
  Usage,
  User,
  UserTask,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryDetails,
} from './types/client-types.ts'
export type {
  AnyConfig,
  ChatAgentId,
  EndpointId,
  EndpointParams,
  EndpointResponse,
  EndpointTypes,
  UnknownConfig,
} from './types/endpoint-types.ts'

export type QuotesClient<Config extends AnyConfig = UnknownConfig> = {
  /** Quotes the price of a task or chat. To get that price, pass the `quoteId` within ten minutes. */
  create: <Id extends EndpointId<Config>>(
    input: CreateQuoteInput<Id, Config>,
    options?: CallOptions,
  ) => CallPromise<Output<'quotes.create'>>
}

/** Pass the type of the service's configuration, `typeof config`, to type the ids, params and responses. */
export type ErrandClient<Config extends AnyConfig = UnknownConfig> = LoginClients &
  AdminClients &
  BillingClients & {
    tasks: TasksClient<Config>
    sessions: SessionsClient<Config>
    chat: ChatClient
    connectors: ConnectorsClient
    webhooks: WebhooksClient
    /** Agents that the caller can run. */
    agents: {
      list: ListMethod<'agents.list'>
      get: Method<'agents.get'>
    }
    quotes: QuotesClient<Config>
    /** The account's API keys. Requires the `manage` scope. */
    keys: {
      /** Only this response contains the key. */
      create: Method<'keys.create'>
      get: Method<'keys.get'>
      list: ListMethod<'keys.list'>
      /** Omitted limits stay unchanged, and null removes a limit. */
      update: Method<'keys.update'>
      /** Takes effect on the next request. Idempotent. */
      revoke: Method<'keys.revoke'>
      /** Creates a key with the same name, scopes and limits. The old key stays valid for `overlapSeconds`. */
      rotate: Method<'keys.rotate'>
    }
    /** Tokens for browsers, valid for one hour at most. */
    clientTokens: {
      /** Creates a token to use as the `apiKey` of a browser's client. Only this response contains the token. */
      create: EasyMethod<'clientTokens.create'>
      /** Lists the active tokens, newest first. */
      list: ListMethod<'clientTokens.list'>
      /** Takes effect on the next request. Idempotent. */
      revoke: Method<'clientTokens.revoke'>
    }
    /**
     * Returns a client that acts on behalf of a user. Requires a platform key with the `act` scope. Pass the external
     * id that your product assigned to the user, or `{ userId }` with the service's id. Throws INVALID_ARGUMENT for
     * anything else.
     */
    asUser(user: ActingUser): ErrandClient<Config>
  }

/**
 * Creates a client for one service and one API key. Makes no request. Throws INVALID_ARGUMENT for invalid options. If
 * you pass `typeof config`, the type of the service's configuration, then unknown endpoints and invalid params do not
 * compile.
 *
 * @example
 * const client = createClient({ baseUrl: 'https://errand.example.com', apiKey })
 * const task = await client.tasks.run({ endpointId: 'text.summarize', params: { text } })
 * console.log(task.status, task.response)
 */
export function createClient<Config extends AnyConfig = UnknownConfig>(
  options: ErrandClientOptions,
): ErrandClient<Config> {
  return clientOn(toConnection(options))
}

function clientOn(connection: Connection): ErrandClient {
  const call = createCall(connection)
  return {
    tasks: createTasksClient(call, connection),
    sessions: createSessionsClient(call),
    chat: createChatClient(connection, call),
    ...createLoginClients(call),
    ...createAdminClients(call),
    ...createBillingClients(call),
    connectors: createConnectorsClient(call),
    webhooks: createWebhooksClient(call),
    agents: methodsOf(call, 'agents', { list: 'list', get: 'read' }),
    quotes: methodsOf(call, 'quotes', { create: 'change' }),
    keys: methodsOf(call, 'keys', {
      create: 'change',
      get: 'read',
      list: 'list',
      update: 'change',
      revoke: 'change',
      rotate: 'change',
    }),
    clientTokens: methodsOf(call, 'clientTokens', {
      create: 'easyChange',
      list: 'list',
      revoke: 'change',
    }),
    asUser: (user) => clientOn(connectionOf(connection, user)),
  }
}
