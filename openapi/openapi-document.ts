import type { AnyProcedure } from '@trpc/server'
import { generateOpenApiDocument } from 'trpc-to-openapi'
import type { z } from 'zod'
import { must } from '../server/kernel/assert.ts'
import { packageVersion } from '../server/kernel/package-version.ts'
import { exportInputs } from '../server/edge/rest/export-routes.ts'
import { describedRouter, proceduresOf } from '../server/edge/root-router.ts'
import { credentialsOf, definitionOf } from '../server/procedures/procedure.ts'
import { chatOperation, chatSchemas } from './chat-operation.ts'
import {
  chatErrors,
  errorResponse,
  errorSchemas,
  headerComponents,
  headersOf,
  rateHeaders,
  rateHeadersOf,
  retryAfterAtTimes,
  retryHeaderOf,
  sharedErrors,
} from './error-responses.ts'
import { readChatOperation, readSessionChatOperation } from './read-chat-operations.ts'
import {
  exportOperation,
  exportSchemas,
  exportTasksOperation,
  exportTransactionsOperation,
} from './export-operation.ts'
import { followOperation, taskEventSchemas } from './follow-operation.ts'
import { nameSchemas } from './name-schemas.ts'
import { operationExamples } from './operation-examples.ts'

// Generates the document from the procedures, then adds what the generator cannot know: error bodies, headers, and
// paths that return a stream or are not procedures.

type Json = Record<string, unknown>
type Operation = Json & {
  operationId: string
  tags: string[]
  security?: Json[]
  parameters?: Json[]
  requestBody?: { content: Record<string, Json> }
  responses: Record<string, Json>
}

/** Procedures that count as executions. Chats count too, but the chat operation is described by hand. */
const executions = new Set(['createTask'])
const writes = new Set([
  'createSession',
  'updateSession',
  'deleteSession',
  'createConnector',
  'updateConnector',
  'deleteConnector',
  'testConnector',
  'callConnectorTool',
  'signInConnector',
  'finishConnectorSignIn',
  'signOutConnector',
  'createWebhook',
  'updateWebhook',
  'deleteWebhook',
  'rotateWebhook',
  'testWebhook',
  'redeliverEvent',
  'createTopup',
  'createQuote',
  'updateAccount',
  'removePaymentMethod',
  'createKey',
  'updateKey',
  'createClientToken',
  'rotateKey',
])
const tooManyWrites = 'The caller exceeded the limit on changes per minute.'
const keptFor24Hours = 'Stored for 24 hours: a repeated request with the same key and body gets the first response.'
const idempotent: Record<string, string> = {
  createTask: keptFor24Hours,
  createSession: keptFor24Hours,
  createTopup: keptFor24Hours,
  creditUser: 'Stored with the transaction: a repeated request with the same key and amount does not credit again.',
}
/** Operations that reject API keys, whatever their scopes. */
const forBrowsers = new Set(['logOut', 'changePassword', 'eraseAccount'])
const settingCookie = new Set(['logIn', 'logOut', 'acceptInvitation', 'endLogins'])
const countingLogins = new Set(['logIn', 'changePassword', 'eraseAccount'])

const tags = [
  { name: 'Tasks', description: 'Asynchronous executions of agents' },
  { name: 'Sessions', description: 'Conversations with an agent, charged per message' },
  { name: 'Agents', description: 'Available agents and their prices' },
  { name: 'Connectors', description: 'MCP servers whose tools agents can call for the user' },
  { name: 'Webhooks', description: 'URLs that receive events, and their deliveries' },
  { name: 'Billing', description: 'Balance and transactions' },
  { name: 'API keys', description: 'Credentials of the account' },
  { name: 'Client tokens', description: 'Short-lived credentials for browsers, valid for at most an hour' },
  { name: 'Browser login', description: 'Logins of people in a browser' },
  { name: 'Invitations', description: 'Single-use links that create an account or set a password' },
  { name: 'Users', description: 'Account management for admins' },
  { name: 'Platform keys', description: 'Credentials of products built on the service' },
  { name: 'System', description: 'State of the running service, for admins' },
  { name: 'Payloads', description: 'Requests and responses that are too large to send inline' },
]

const about = `Runs agents on behalf of a user and charges the user's balance in USD. A task is charged when it is created and refunded in full if it fails. A chat is charged per message, by usage.

Within a version, operations, optional request fields, response fields, enumeration values, error codes and event types can be added. Clients must ignore unknown fields and tolerate unknown values.

Every error body has a machine-readable \`code\`. Include the header \`X-Request-Id\` when you report an error.`

export function createOpenApiDocument(): Json {
  const document = generateOpenApiDocument(
    describedRouter as unknown as Parameters<typeof generateOpenApiDocument>[0],
    {
      title: 'Errand',
      description: about,
      version: packageVersion,
      openApiVersion: '3.1.0',
      baseUrl: '/',
      license: { name: 'MIT', identifier: 'MIT' },
      tags: tags.map(({ name }) => name),
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `errand_sk_…`' },
        platformKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A platform key, `errand_pk_…`. With the `act` scope and the header Errand-User, it has `read` and `execute` for that user',
        },
        clientToken: {
          type: 'http',
          scheme: 'bearer',
          description: 'A client token, `errand_ct_…`, for browsers, valid for at most an hour',
        },
        browserSession: { type: 'apiKey', in: 'cookie', name: '__Host-errand', description: 'A browser login' },
      },
    },
  ) as unknown as Json & { paths: Record<string, Record<string, Operation>>; components: Json & { schemas: Json } }
  for (const operations of Object.values(document.paths)) {
    for (const operation of Object.values(operations)) completeOperation(operation)
  }
  const ofStreams = { headers: { ...headersOf('X-Request-Id'), ...rateHeaders } }
  const chat = chatOperation(chatErrors(), ofStreams) as Operation
  chat.parameters = [
    idempotencyParameter(
      'Stored for 24 hours: a repeated request with the same key and body gets the same reply while its events are stored. Later, or with a different body, it is rejected with 409.',
    ),
  ]
  document.paths['/api/chat'] = { post: chat }
  document.paths['/api/chat/{turnId}/events'] = { get: readChatOperation(ofStreams) as Operation }
  document.paths['/api/sessions/{sessionId}/stream'] = { get: readSessionChatOperation(ofStreams) as Operation }
  document.paths['/api/tasks/{taskId}/events'] = { get: followOperation(ofStreams) as Operation }
  document.paths['/api/account/export'] = { get: exportOperation(ofStreams) as Operation }
  const filtersOf = (path: string, schema: z.ZodObject) =>
    must(document.paths[path]?.['get']?.parameters, 'the list has filters').filter(
      ({ name }) => (name as string) in schema.shape,
    )
  const filters = filtersOf('/api/transactions', exportInputs.transactions)
  document.paths['/api/transactions/export'] = { get: exportTransactionsOperation(ofStreams, filters) as Operation }
  const taskFilters = filtersOf('/api/tasks', exportInputs.tasks)
  document.paths['/api/tasks/export'] = { get: exportTasksOperation(ofStreams, taskFilters) as Operation }
  document.paths['/api/payloads/{payloadId}'] = { get: payloadOperation() }
  document.components.schemas = {
    ...taskEventSchemas(),
    ...exportSchemas,
    ...withoutErrors(document.components.schemas),
    ...chatSchemas(),
    ...errorSchemas,
  }
  document.components['headers'] = headerComponents
  nameSchemas(document)
  for (const operations of Object.values(document.paths)) {
    for (const operation of Object.values(operations)) addExamples(operation)
  }
  document['tags'] = tags
  const { info } = document as { info?: Json }
  document['info'] = { ...info, contact: { name: 'The operator of this server' } }
  document['servers'] = [{ url: '/', description: 'The server that returned this document' }]
  return document
}

function completeOperation(operation: Operation): void {
  const { operationId } = operation
  const isPublic = operation.security === undefined
  const isExecution = executions.has(operationId)
  operation.security = isPublic ? [] : securityOf(operation)
  // Public operations have no authenticated caller, so no rate limit applies to them.
  const ofCaller = isPublic ? {} : rateHeaders
  const success = operation.responses['200']!
  success['headers'] = {
    ...headersOf('X-Request-Id'),
    ...ofCaller,
    ...(settingCookie.has(operationId) && headersOf('Set-Cookie')),
  }
  operation.responses = { 200: success }
  for (const [status, description] of Object.entries(errorsOf(operation, { isExecution, isPublic }))) {
    const hasOtherRate = status === '429' && !isExecution && !countingLogins.has(operationId)
    const headers = {
      ...(status === '401' ? headersOf('WWW-Authenticate') : isPublic || hasOtherRate ? {} : rateHeadersOf(status)),
      ...retryHeaderOf(status),
      ...(isExecution && status === '403' && retryAfterAtTimes),
    }
    const code = status === '429' && countingLogins.has(operationId) ? 'LOGIN_THROTTLED' : undefined
    operation.responses[status] = errorResponse(status, { description, headers, code })
  }
  describeParameters(operation)
  const effect = idempotent[operationId]
  if (effect !== undefined) operation.parameters = [...(operation.parameters ?? []), idempotencyParameter(effect)]
}

function securityOf({ operationId }: Operation): Json[] {
  if (forBrowsers.has(operationId)) return [{ browserSession: [] }]
  return credentialsOf(procedureNamed(operationId)).map((credential) => ({ [credential]: [] }))
}

/**
 * Returns the descriptions of an operation's errors by status. The generator would give all operations the same ones.
 */
function errorsOf(
  operation: Operation,
  { isExecution, isPublic }: { isExecution: boolean; isPublic: boolean },
): Record<string, string> {
  const { 401: stranger, 403: forbidden, 429: rate, ...faults } = sharedErrors
  return {
    ...faults,
    ...(!isPublic && { 401: stranger!, 403: forbidden! }),
    ...(isExecution && { 429: rate! }),
    ...(writes.has(operation.operationId) && { 429: tooManyWrites }),
    ...ownErrors(operation),
  }
}

function idempotencyParameter(description: string): Json {
  return {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  }
}

function ownErrors(operation: Operation): Record<string, string> {
  return definitionOf(procedureNamed(operation.operationId)).meta?.openapi?.errorResponses ?? {}
}

/** Restores the descriptions of optional parameters, which the generator drops. */
function describeParameters(operation: Operation): void {
  const fields = (
    definitionOf(procedureNamed(operation.operationId)).inputs[0] as { shape?: Record<string, z.ZodType> } | undefined
  )?.shape
  for (const parameter of operation.parameters ?? []) {
    const description = fields?.[parameter['name'] as string]?.description
    if (description !== undefined) parameter['description'] = description
  }
}

function procedureNamed(operationId: string): AnyProcedure {
  const procedures = Object.values(proceduresOf(describedRouter))
  const found = procedures.find((one) => definitionOf(one).meta?.openapi?.operationId === operationId)
  return must(found, `a procedure is ${operationId}`)
}

function addExamples({ operationId, requestBody, responses }: Operation): void {
  const { request, response } = operationExamples[operationId] ?? {}
  const [body] = Object.values(requestBody?.content ?? {})
  if (body && request !== undefined) body['example'] = request
  const [answer] = Object.values((responses['200']?.['content'] as Record<string, Json> | undefined) ?? {})
  if (answer && response !== undefined) answer['example'] = response
}

function payloadOperation(): Operation {
  const text = (name: string, where: string, description: string) => ({
    name,
    in: where,
    required: true,
    description,
    schema: { type: 'string' },
  })
  return {
    operationId: 'getPayload',
    tags: ['Payloads'],
    summary: 'Download a stored request or response',
    description: 'The URL is the `requestUri` or `responseUri` of a task. It needs no other authentication.',
    security: [],
    parameters: [
      text('payloadId', 'path', 'The id of the payload'),
      text('expires', 'query', 'Unix time in seconds'),
      text('signature', 'query', 'HMAC-SHA256 of the id and the expiry'),
    ],
    responses: {
      200: {
        description: 'The whole JSON.',
        headers: headersOf('X-Request-Id'),
        content: { 'application/json': { schema: {} } },
      },
      304: { description: "The client's copy is current." },
      403: errorResponse('403', { description: 'The link is invalid or expired.' }),
      404: errorResponse('404', { description: 'The payload no longer exists.' }),
      500: errorResponse('500', { description: sharedErrors['500']! }),
    },
  }
}

function withoutErrors(schemas: Json): Json {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.startsWith('error.')))
}
