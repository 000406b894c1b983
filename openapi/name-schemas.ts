import { transactionTypes } from '../server/store/accounts/account-types.ts'
import { taskStatuses } from '../server/store/tasks/task-types.ts'
import { scopes } from '../server/store/access/key-types.ts'
import { sessionStatuses, messageRoles } from '../server/store/sessions/session-types.ts'
import { mailKinds, mailStatuses } from '../server/store/mails/mail-types.ts'
import { loginMethods, invitationKinds } from '../server/store/access/people-types.ts'
import { connectorStatuses, connectorAuthTypes } from '../server/store/connectors/connector-types.ts'
import { isDeepStrictEqual } from 'node:util'
import { cancelModes } from '../server/agents/config/agent-schema.ts'
import { agentKinds } from '../server/agents/config/catalogue.ts'
import { errorCatalogue } from '../server/kernel/errors.ts'
import { topupStatuses } from '../server/store/payments/payment-types.ts'
import { deliveryStatuses, disabledReasons, eventTypes } from '../server/store/events/event-types.ts'

// Names the document's schemas. Generated clients use these names for their types.

type Json = Record<string, unknown>
type Named = { paths: Record<string, Record<string, unknown>>; components: { schemas: Json } }
type Spoken = {
  operationId: string
  requestBody?: { content: Json }
  responses: Record<string, { content?: Record<string, { schema: unknown }> }>
}

const enums: Record<string, readonly string[]> = {
  TaskStatus: taskStatuses,
  SessionStatus: sessionStatuses,
  MessageRole: messageRoles,
  AgentKind: agentKinds,
  CancelMode: cancelModes,
  TransactionType: transactionTypes,
  Scope: scopes,
  LoginMethod: loginMethods,
  InvitationKind: invitationKinds,
  MailKind: mailKinds,
  MailStatus: mailStatuses,
  ConnectorStatus: connectorStatuses,
  ConnectorAuthType: connectorAuthTypes,
  TopupStatus: topupStatuses,
  EventType: eventTypes,
  DeliveryStatus: deliveryStatuses,
  WebhookDisabledReason: disabledReasons,
  ErrorCode: Object.keys(errorCatalogue),
}

/**
 * `Login` differs only in case from the name that generators give to the operation logIn. Some write one file per name,
 * and these collide on case-insensitive file systems.
 */
const renamed: Record<string, string> = { Login: 'BrowserLogin' }

const mayGrow = 'New values can be added; ignore unknown values.'

/** Moves bodies, responses and enums to named components. Generators can name inline schemas only by position. */
export function nameSchemas(document: Named): void {
  const { paths, components } = document
  for (const methods of Object.values(paths)) {
    for (const operation of Object.values(methods) as Spoken[]) nameBodies(operation, components.schemas)
  }
  document.paths = tidied(paths) as Named['paths']
  const schemas = Object.entries(tidied(components.schemas) as Json).map(([name, own]) => [renamed[name] ?? name, own])
  const named = Object.entries(enums).map(([name, values]) => [
    name,
    { type: 'string', enum: values, description: mayGrow },
  ])
  components.schemas = Object.fromEntries([...schemas, ...named])
}

/** Names a body after its operation, and the response too, unless it already has a name. */
function nameBodies({ operationId, requestBody, responses }: Spoken, schemas: Json): void {
  const name = operationId[0]!.toUpperCase() + operationId.slice(1)
  for (const [content, own] of [
    [requestBody?.content, `${name}Input`],
    [responses['200']?.content, `${name}Output`],
  ] as const) {
    const body = content?.['application/json'] as { schema: Json } | undefined
    if (body?.schema['type'] !== 'object') continue
    const [known = own] = Object.entries(schemas).find(([, schema]) => isDeepStrictEqual(schema, body.schema)) ?? []
    schemas[known] ??= body.schema
    body.schema = { $ref: `#/components/schemas/${known}` }
  }
}

/**
 * Replaces enums with references, and removes what the generator adds to every object and integer. The additions state
 * the obvious (names are strings, integers are within JavaScript's range) or forbid unknown response fields, although
 * the service may add fields.
 */
function tidied(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(tidied)
  const {
    $ref: ref,
    additionalProperties,
    enum: values,
    maximum,
    minimum,
    propertyNames,
    type,
    ...rest
  } = value as Json
  const [name] = Object.entries(enums).find(([, own]) => isDeepStrictEqual(own, values)) ?? []
  if (name !== undefined) return { $ref: `#/components/schemas/${name}`, ...rest }
  return {
    ...(typeof ref === 'string' && { $ref: ref.replace(/\w+$/, (target) => renamed[target] ?? target) }),
    ...(type !== undefined && { type: tidied(type) }),
    ...(values !== undefined && { enum: values }),
    ...(minimum !== undefined && minimum !== Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum !== Number.MAX_SAFE_INTEGER && { maximum }),
    ...Object.fromEntries(Object.entries(rest).map(([key, own]) => [key, key === 'example' ? own : tidied(own)])),
    ...(isDeepStrictEqual(propertyNames, { type: 'string' }) || propertyNames === undefined ? {} : { propertyNames }),
    ...(additionalProperties !== undefined && additionalProperties !== false && { additionalProperties }),
  }
}
