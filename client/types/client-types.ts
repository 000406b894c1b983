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
  Invitation,
  Mail,
  Key,
  Login,
  Message,
  Owner,
  PlatformKey,
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

/** A message part: text, or a file. A file is either base64 content or the id of a file from an earlier message. */
export type ChatMessagePart = Exclude<ChatInput['message'], string>[number]

export type EndedTask = Task & { status: 'completed' | 'failed' }

/**
 * The endpoints of one service, by id. Empty here; `npx errand-client types URL` writes declarations that extend it.
 * Endpoints that are not declared accept any params.
 *
 * @example
 * declare module 'errand-client' {
 *   interface EndpointTypes {
 *     'text.summarize': { params: { text: string }; response: { summary: string } }
 *   }
 * }
 */
// oxlint-disable-next-line typescript/consistent-type-definitions typescript/no-empty-object-type -- Only an interface can be added to.
export interface EndpointTypes {}

type AnyObject = Record<string, unknown>
type Declared<Id, Part extends string> = Id extends keyof EndpointTypes
  ? EndpointTypes[Id] extends { [part in Part]: infer Type }
    ? Type
    : AnyObject
  : AnyObject

/** A declared endpoint id, or any other string. */
export type EndpointId = keyof EndpointTypes extends never ? string : WithOthers<keyof EndpointTypes>
/** Accepts any string, and lets editors suggest the known values. */
type WithOthers<Known> = Known | (string & {})

export type EndpointParams<Id> = Declared<Id, 'params'>
export type EndpointResponse<Id> = Declared<Id, 'response'>
