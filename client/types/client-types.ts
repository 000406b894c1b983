import type { ChatInput, Mutations, Queries, Task } from './api-types.ts'

export type Operations = Queries & Mutations
export type Operation = keyof Operations
export type Input<Name extends Operation> = Operations[Name]['input']
export type Output<Name extends Operation> = Operations[Name]['output']

export type {
  Account,
  Agent,
  ChatEvent,
  ChatInput,
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
} from './api-types.ts'

/** A file is either base64 content or the id of a file from an earlier message. */
export type ChatMessagePart = Exclude<ChatInput['message'], string>[number]

export type EndedTask = Task & { status: 'completed' | 'failed' }
