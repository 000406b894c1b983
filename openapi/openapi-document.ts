import { generateOpenApiDocument } from 'trpc-to-openapi'
import { ErrandError, errorBody, errorCatalogue, type ErrorCode } from '../server/kernel/errors.ts'
import { rootRouter } from '../server/rpc/root-router.ts'
import { chatOperation, chatSchemas } from './chat-operation.ts'

// The document is generated from the procedures, then completed with what the generator cannot know: our error bodies,
// the headers, and the one path that is no procedure.

type Json = Record<string, unknown>
type Operation = Json & {
  operationId: string
  tags: string[]
  security?: Json[]
  parameters?: Json[]
  responses: Record<string, Json>
}

const rateHeaders: Json = {
  'X-RateLimit-Limit': header('Agent executions that are allowed per minute'),
  'X-RateLimit-Remaining': header('How many of them are left'),
  'X-RateLimit-Reset': header('Unix time in seconds at which the oldest counted execution leaves the window'),
}
const requestIdHeader: Json = { 'X-Request-Id': always(header('Identifies the request in the logs', 'string')) }
const authenticateHeader: Json = { 'WWW-Authenticate': always(header('The scheme to authenticate with', 'string')) }
const retryAfterHeader: Json = { 'Retry-After': header('Seconds to wait before the next try') }
const retryAfterAlways: Json = { 'Retry-After': always(header('Seconds to wait before the next try')) }
/** Of refusals that may come before the caller is known: these headers are of a caller. */
const beforeCaller = /^(?:403|500|503)$/
const cookieHeader: Json = { 'Set-Cookie': header('The cookie of the browser login', 'string') }

/** Answers that any operation may give, beside its own. */
const sharedErrors: Record<string, string> = {
  401: 'Authentication is missing or invalid.',
  403: 'Permission is missing.',
  429: 'More executions than the limit allows within a minute.',
  500: 'The service failed; nothing is said of why.',
  503: 'The service is overloaded, is stopping or cannot write; try again, with the same Idempotency-Key.',
}
/** Only these operations count as executions. */
const executions = new Set(['createTask'])
/** And these as changes of what an account has. */
const writes = new Set([
  'createSession',
  'updateSession',
  'deleteSession',
  'createConnector',
  'updateConnector',
  'deleteConnector',
  'testConnector',
  'createKey',
  'rotateKey',
])
const tooManyWrites = 'More changes than the limit allows within a minute.'
const keptFor24Hours = 'Kept for 24 hours: a repeated request with the same key and body gets the first answer.'
const idempotent: Record<string, string> = {
  createTask: keptFor24Hours,
  createSession: keptFor24Hours,
  creditUser: 'Kept with the transaction: a repeated request with the same key and amount credits nothing more.',
}
/** These are for browser logins alone, as all that admins do is. */
const forBrowsers = new Set(['logOut', 'changePassword'])
const forAdmins = new Set(['Invitations', 'Users', 'System'])
const settingCookie = new Set(['logIn', 'logOut', 'acceptInvitation', 'endLogins'])
const countingLogins = new Set(['logIn', 'changePassword'])

const tags = [
  { name: 'Tasks', description: 'Asynchronous executions of agents' },
  { name: 'Sessions', description: 'Conversations with an agent, billed by message' },
  { name: 'Agents', description: 'What can be run, and at what price' },
  { name: 'Connectors', description: "The user's connected services, whose tools agents may call" },
  { name: 'Billing', description: 'The balance and its transactions' },
  { name: 'API keys', description: 'Credentials of the account' },
  { name: 'Browser login', description: 'The logins of people, beside the keys of programs' },
  { name: 'Invitations', description: 'Links that make an account or set a password, once' },
  { name: 'Users', description: 'What admins see and change of accounts' },
  { name: 'System', description: 'What admins see of the running service' },
  { name: 'Payloads', description: 'Requests and responses that are too large to be inline' },
]

export function createOpenApiDocument(): Json {
  const document = generateOpenApiDocument(rootRouter as unknown as Parameters<typeof generateOpenApiDocument>[0], {
    title: 'Errand',
    description:
      'Runs agents on behalf of a user and bills the balance in USD. A task is charged when it is created and refunded in full when it fails; a chat is charged by message, for what it used.',
    version: '1.0.0',
    openApiVersion: '3.1.0',
    baseUrl: '/',
    license: { name: 'MIT', identifier: 'MIT' },
    tags: tags.map(({ name }) => name),
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `errand_sk_…`' },
      browserSession: { type: 'apiKey', in: 'cookie', name: '__Host-errand', description: 'A browser login' },
    },
  }) as unknown as Json & { paths: Record<string, Record<string, Operation>>; components: Json & { schemas: Json } }
  for (const operations of Object.values(document.paths)) {
    for (const operation of Object.values(operations)) completeOperation(operation)
  }
  const chat = chatOperation(chatErrors(), { headers: { ...requestIdHeader, ...rateHeaders } }) as Operation
  chat.parameters = [
    idempotencyParameter('Kept for 24 hours: a repeated request with a key that was used is refused with 409.'),
  ]
  document.paths['/api/chat'] = { post: chat }
  document.paths['/api/payloads/{payloadId}'] = { get: payloadOperation() }
  document.components.schemas = {
    ...withoutErrors(document.components.schemas),
    ...chatSchemas(),
    Error: errorSchema(),
  }
  document['tags'] = tags
  return document
}

function completeOperation(operation: Operation): void {
  const { operationId } = operation
  const isPublic = operation.security === undefined
  const isExecution = executions.has(operationId)
  const isForBrowsers = forBrowsers.has(operationId) || operation.tags.some((tag) => forAdmins.has(tag))
  if (isPublic) operation.security = []
  else if (isForBrowsers) operation.security = [{ browserSession: [] }]
  // Only a caller has a rate.
  const ofCaller = isPublic ? {} : rateHeaders
  const success = operation.responses['200']!
  success['headers'] = { ...requestIdHeader, ...ofCaller, ...(settingCookie.has(operationId) && cookieHeader) }
  operation.responses = { 200: success }
  for (const [status, description] of Object.entries(errorsOf(operation, { isExecution, isPublic }))) {
    const hasOtherRate = status === '429' && !isExecution && !countingLogins.has(operationId)
    const headers = {
      ...(status === '401' ? authenticateHeader : isPublic || hasOtherRate ? {} : rateHeadersOf(status)),
      ...retryHeaderOf(status),
      ...(isExecution && status === '403' && retryAfterHeader),
    }
    const code = status === '429' && countingLogins.has(operationId) ? 'LOGIN_THROTTLED' : undefined
    operation.responses[status] = errorResponse(status, { description, headers, code })
  }
  const effect = idempotent[operationId]
  if (effect !== undefined) operation.parameters = [...(operation.parameters ?? []), idempotencyParameter(effect)]
}

/** The generator names its error responses by status alone, so that all operations get the texts of the first. */
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

/** The refusals that the procedure itself names, by status. */
function ownErrors({ operationId }: Operation): Record<string, string> {
  const procedures = rootRouter._def.procedures as unknown as Record<string, { _def: { meta?: ProcedureRest } }>
  const found = Object.values(procedures).find(({ _def }) => _def.meta?.openapi?.operationId === operationId)
  return found?._def.meta?.openapi?.errorResponses ?? {}
}

type ProcedureRest = { openapi?: { operationId: string; errorResponses: Record<string, string> } }

type Refusal = { description: string; headers?: Json; code?: ErrorCode | undefined }

/** The example's code is `code`, or the first with that status. */
function errorResponse(status: string, { description, headers = {}, ...given }: Refusal): Json {
  const codes = Object.keys(errorCatalogue) as ErrorCode[]
  const { code = codes.find((known) => String(errorCatalogue[known].status) === status)! } = given
  return {
    description,
    headers: { ...requestIdHeader, ...headers },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        example: errorBody(new ErrandError(code, description)),
      },
    },
  }
}

function errorSchema(): Json {
  return {
    type: 'object',
    required: ['error', 'message', 'statusCode', 'code'],
    properties: {
      error: { type: 'string', enum: [...new Set(Object.values(errorCatalogue).map(({ error }) => error))] },
      message: { type: 'string' },
      statusCode: { type: 'integer' },
      code: { type: 'string', enum: Object.keys(errorCatalogue) },
      details: {
        type: 'array',
        description: 'What is wrong, by field',
        items: {
          type: 'object',
          required: ['path', 'message'],
          properties: { path: { type: 'string' }, message: { type: 'string' } },
        },
      },
    },
  }
}

/** Refusals of a chat. Those of its admission are told as an `error` event too, unless only JSON is accepted. */
function chatErrors(): Json {
  const refusals: Record<string, string> = {
    ...sharedErrors,
    400: 'The body is invalid.',
    403: 'The balance is lower than what the message needs, or permission is missing.',
    404: 'The session was not found.',
    409: 'The session is completed, another of its messages is being answered, or the Idempotency-Key was used.',
    410: 'The session has expired.',
    413: 'The body is too large.',
    415: 'The body is not JSON.',
  }
  const responses: Json = {}
  for (const [status, description] of Object.entries(refusals)) {
    const own = {
      ...(status === '401' ? authenticateHeader : rateHeadersOf(status)),
      ...(status === '429' && rateHeadersUnless('too many chats wait for the balance')),
      ...retryHeaderOf(status),
    }
    const response = errorResponse(status, { description, headers: own }) as { content: Json }
    if (/403|404|409|410|429/.test(status)) {
      response.content['application/x-ndjson'] = { schema: { $ref: '#/components/schemas/ChatEvent' } }
    }
    responses[status] = response
  }
  return responses
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
    description: 'The address is the `requestUri` or `responseUri` of a task; it needs no other authentication.',
    security: [],
    parameters: [
      text('payloadId', 'path', 'The id of the payload'),
      text('expires', 'query', 'Unix time in seconds'),
      text('signature', 'query', 'HMAC-SHA256 of the id and the expiry'),
    ],
    responses: {
      200: {
        description: 'The whole JSON.',
        headers: requestIdHeader,
        content: { 'application/json': { schema: {} } },
      },
      304: { description: 'The copy that the client has is the whole JSON.' },
      403: errorResponse('403', { description: 'The link is wrong or has expired.' }),
      404: errorResponse('404', { description: 'The payload no longer exists.' }),
      500: errorResponse('500', { description: sharedErrors['500']! }),
    },
  }
}

function withoutErrors(schemas: Json): Json {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.startsWith('error.')))
}

function rateHeadersOf(status: string): Json {
  return beforeCaller.test(status) ? rateHeadersUnless('the refusal came before the caller was known') : rateHeaders
}

function rateHeadersUnless(reason: string): Json {
  const named = Object.entries(rateHeaders) as [string, Json][]
  return Object.fromEntries(
    named.map(([name, own]) => [
      name,
      {
        ...own,
        description: `${String(own['description'])}; absent when ${reason}`,
      },
    ]),
  )
}

function retryHeaderOf(status: string): Json {
  return status === '429' || status === '503' ? retryAfterAlways : {}
}

/** A header without which that answer never comes. */
function always(own: Json): Json {
  return { ...own, required: true }
}

function header(description: string, type: 'integer' | 'string' = 'integer'): Json {
  return { description, schema: { type } }
}
