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
} from './api-types.ts'

/** A part of a message: a text, or a file with its bytes in base64 or by its id in an earlier message. */
export type ChatMessagePart = Exclude<ChatInput['message'], string>[number]

/** A task that will not change any more. */
export type EndedTask = Task & { status: 'completed' | 'failed' }

/**
 * The endpoints of one service, by id: empty here, and filled by the declarations that `npx errand-client types URL`
 * writes. Endpoints that are not in it take any params.
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

/** The id of an endpoint, of those that are declared or of any other. */
export type EndpointId = keyof EndpointTypes extends never ? string : WithOthers<keyof EndpointTypes>
/** Any string, of which editors offer those that are known. */
type WithOthers<Known> = Known | (string & {})

export type EndpointParams<Id> = Declared<Id, 'params'>
/** What a completed task of the endpoint answers. */
export type EndpointResponse<Id> = Declared<Id, 'response'>
