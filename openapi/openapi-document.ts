import { generateOpenApiDocument } from 'trpc-to-openapi'
import { errorCatalogue } from '../server/kernel/errors.ts'
import { rootRouter } from '../server/rpc/root-router.ts'
import { chatOperation, chatSchemas } from './chat-operation.ts'

// The document is generated from the procedures, then completed with what the generator cannot know: our error bodies,
// the headers, and the one path that is no procedure.

type Json = Record<string, unknown>
type Operation = Json & {
  operationId: string
  parameters?: Json[]
  responses: Record<string, Json>
}

const rateHeaders: Json = {
  'X-RateLimit-Limit': header('Agent executions that are allowed per minute'),
  'X-RateLimit-Remaining': header('How many of them are left'),
  'X-RateLimit-Reset': header('Unix time in seconds at which the oldest counted execution leaves the window'),
}
const requestIdHeader: Json = { 'X-Request-Id': header('Identifies the request in the logs', 'string') }
const authenticateHeader: Json = { 'WWW-Authenticate': header('The scheme to authenticate with', 'string') }
const retryAfterHeader: Json = { 'Retry-After': header('Seconds to wait before the next try') }

/** Answers that any operation may give, beside its own. */
const sharedErrors: Record<string, string> = {
  401: 'Authentication is missing or invalid.',
  403: 'Permission is missing.',
  429: 'More executions than the limit allows within a minute.',
  500: 'The service failed; nothing is said of why.',
  503: 'The service is stopping or cannot write; try again, with the same Idempotency-Key.',
}
/** Only these operations count as executions. */
const executions = new Set(['createTask'])
const idempotent = new Set(['createTask', 'createSession'])

export function createOpenApiDocument(): Json {
  const document = generateOpenApiDocument(rootRouter as unknown as Parameters<typeof generateOpenApiDocument>[0], {
    title: 'Errand',
    description:
      'Runs agents on behalf of a user and bills the balance in USD. A task is charged when it is created and refunded in full when it fails; a chat is charged by message, for what it used.',
    version: '1.0.0',
    openApiVersion: '3.1.0',
    baseUrl: '/',
    license: { name: 'MIT', identifier: 'MIT' },
    tags: ['Tasks', 'Sessions', 'Agents', 'Billing', 'API keys', 'Payloads'],
    securitySchemes: {
      apiKey: { type: 'http', scheme: 'bearer', description: 'An API key, `errand_sk_…`' },
      browserSession: { type: 'apiKey', in: 'cookie', name: '__Host-errand', description: 'A browser login' },
    },
  }) as unknown as Json & { paths: Record<string, Record<string, Operation>>; components: Json & { schemas: Json } }
  for (const operations of Object.values(document.paths)) {
    for (const operation of Object.values(operations)) completeOperation(operation)
  }
  const chat = chatOperation(chatErrors(), { headers: { ...requestIdHeader, ...rateHeaders } }) as Operation
  chat.parameters = [idempotencyParameter('a repeated request with a key that was used is refused with 409')]
  document.paths['/api/chat'] = { post: chat }
  document.paths['/api/payloads/{payloadId}'] = { get: payloadOperation() }
  document.components.schemas = {
    ...withoutErrors(document.components.schemas),
    ...chatSchemas(),
    Error: errorSchema(),
  }
  document['tags'] = [
    { name: 'Tasks', description: 'Asynchronous executions of agents' },
    { name: 'Sessions', description: 'Conversations with an agent, billed by message' },
    { name: 'Agents', description: 'What can be run, and at what price' },
    { name: 'Billing', description: 'The balance and its transactions' },
    { name: 'API keys', description: 'Credentials of the account' },
    { name: 'Payloads', description: 'Requests and responses that are too large to be inline' },
  ]
  return document
}

function completeOperation(operation: Operation): void {
  const isExecution = executions.has(operation.operationId)
  const { 429: rate, ...others } = sharedErrors
  // The generator names its error responses by status alone, so that all operations get the texts of the first.
  const errors: Record<string, string> = { ...others, ...(isExecution && { 429: rate! }), ...ownErrors(operation) }
  const success = operation.responses['200']!
  success['headers'] = { ...requestIdHeader, ...rateHeaders }
  operation.responses = { 200: success }
  for (const [status, description] of Object.entries(errors)) {
    const canWait = status === '503' || (isExecution && (status === '403' || status === '429'))
    operation.responses[status] = errorResponse(status, description, {
      ...(status === '401' ? authenticateHeader : rateHeaders),
      ...(canWait && retryAfterHeader),
    })
  }
  if (idempotent.has(operation.operationId)) {
    const effect = 'a repeated request with the same key and body gets the first answer'
    operation.parameters = [...(operation.parameters ?? []), idempotencyParameter(effect)]
  }
}

function idempotencyParameter(effect: string): Json {
  return {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: `Kept for 24 hours: ${effect}.`,
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

function errorResponse(status: string, description: string, headers: Json = {}): Json {
  return {
    description,
    headers: { ...requestIdHeader, ...headers },
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Error' },
        example: {
          error: Object.values(errorCatalogue).find((entry) => String(entry.status) === status)!.error,
          message: description,
          statusCode: Number(status),
        },
      },
    },
  }
}

function errorSchema(): Json {
  return {
    type: 'object',
    required: ['error', 'message', 'statusCode'],
    properties: {
      error: { type: 'string', enum: [...new Set(Object.values(errorCatalogue).map(({ error }) => error))] },
      message: { type: 'string' },
      statusCode: { type: 'integer' },
      details: {
        type: 'array',
        description: 'Of a 400: what is wrong, by field',
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
      ...(status === '401' ? authenticateHeader : rateHeaders),
      ...(/429|503/.test(status) && retryAfterHeader),
    }
    const response = errorResponse(status, description, own) as { content: Json }
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
      403: errorResponse('403', 'The link is wrong or has expired.'),
      404: errorResponse('404', 'The payload no longer exists.'),
      500: errorResponse('500', sharedErrors['500']!),
    },
  }
}

function withoutErrors(schemas: Json): Json {
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => !name.startsWith('error.')))
}

function header(description: string, type: 'integer' | 'string' = 'integer'): Json {
  return { description, schema: { type } }
}
