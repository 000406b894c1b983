import fc from 'fast-check'
import { describedRouter, proceduresOf } from '../../server/edge/root-router.ts'
import type { ProcedureMeta } from '../../server/procedures/procedure.ts'
import { password } from '../api/browser-login.ts'
import type { Json, Operation } from '../pins/documented-answers.ts'
import { rawRequest } from '../support/raw-http.ts'
import { jsonObject, secretMark, text, validValue, type Known } from './document-values.ts'
import type { World } from './property-world.ts'

// Requests for the operations in the OpenAPI document, before serialization.

export type Draft = { path: Record<string, string>; query: Record<string, string | string[]>; body?: unknown }

export type Parameter = { name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Json }

export function parametersOf({ spec }: Operation, where: Parameter['in']): Parameter[] {
  return ((spec['parameters'] ?? []) as Parameter[]).filter((parameter) => parameter.in === where)
}

/** Returns the schema of the body. If a POST has no documented body, an empty object is allowed too. */
export function bodySchemaOf({ method, spec }: Operation): Json | undefined {
  const content = spec['requestBody']?.content['application/json']
  if (content) return content.schema as Json
  return method === 'POST' ? { type: 'object', properties: {} } : undefined
}

let names = 0
const plenty = fc.constantFrom('100', '250.5000')

/** Returns the same fields under the names that they have within a quote request. */
function inQuote(kind: 'task' | 'chat', fields: Record<string, fc.Arbitrary<unknown>>): Known {
  const quoted = Object.entries(fields).map(([name, values]) => [`${kind}.${name}`, values])
  return { ...fields, ...Object.fromEntries(quoted) }
}

/** Returns generators for body fields with constraints that the document cannot express. */
export function knownOf({ ids, mcpUrl }: World, { id }: Operation): Known {
  const secret = fc.stringMatching(new RegExp(`^${secretMark}[!-~]{0,30}$`))
  // Names end with a period, because the service trims blanks before it checks the length.
  const named = text.map((end) => `n${++names} ${end}.`.slice(-60))
  return {
    ...inQuote('task', { endpointId: fc.constantFrom('test.echo', 'test.free') }),
    agentId: fc.constant('talk'),
    'agents[]': fc.constant('talk'),
    'limits.agents[]': fc.constant('talk'),
    // The service has no plans.
    plan: fc.constant(null),
    ...inQuote('chat', {
      sessionId: fc.constant(ids['sessionId']),
      agentId: fc.constant('talk'),
      'connectorIds[]': fc.constant(ids['connectorId']),
      message: text.filter((message) => message !== '' && !message.startsWith('[{')),
      'params.maxTokens': fc.integer({ min: 1, max: 1000 }),
    }),
    // These caps exceed what the executions can cost.
    ...inQuote('task', { maxCostUsd: plenty }),
    'chat.maxCostUsd': plenty,
    // The upper bound is the timeout configured for these endpoints.
    timeoutSeconds: fc.integer({ min: 1, max: 300 }),
    name: named,
    reason: named,
    url: fc.constantFrom('https://mcp.example.com/', 'https://mcp.example.com/a?b=c#d', 'https://8.8.8.8:8443/mcp'),
    ...(id.endsWith('Webhook') && { url: fc.constantFrom('https://hooks.example.com/', 'https://8.8.8.8:8443/a?b=c') }),
    webhookUrl: fc.constant(mcpUrl),
    'auth.token': secret,
    'auth.headers': fc.dictionary(fc.stringMatching(/^x-[a-z]{1,9}$/), secret, { minKeys: 1, maxKeys: 4 }),
    amountUsd: fc.stringMatching(/^[1-9]\d{0,4}(?:\.\d{1,4})?$/),
    // Amounts within the payment limits, in dollars with or without cents.
    ...(id === 'createTopup' && { amountUsd: fc.stringMatching(/^[1-9]\d{1,2}(?:\.\d\d)?$/) }),
    returnUrl: fc.constantFrom('https://app.example.com/', 'https://app.example.com/billing?tab=1#top'),
    token: fc.constant(ids['token']),
    ...(id === 'createClientToken' && { taskId: fc.constant(ids['taskId']) }),
    'addresses[]': fc.constantFrom('192.0.2.7', '10.0.0.0/8', '2001:db8::/32', '::1'),
    currentPassword: fc.constant(password),
    ...(id === 'logIn' && { password: fc.constant(password) }),
    tool: fc.constant('look'),
    metadata: jsonObject.filter((metadata) => !Object.hasOwn(metadata, 'connectorIds')),
  }
}

/** Query parameters of a valid period, of at most three years. */
const knownQuery: Known = {
  from: fc.constantFrom('2024-12-31', '2025-02-28', '2025-12-31'),
  to: fc.constantFrom('2025-12-31', '2026-01-01', '2027-06-30'),
  // The other order excludes times of creation.
  order: fc.constant('created'),
}

/** Applies constraints between fields. Undefined if no valid body remains. */
function together(id: string, body: Json): Json | undefined {
  // Only responses contain valid quotes, and ids of sessions and turns in the required state.
  const { continues: _continues, quoteId: _quoteId, replaces: _replaces, server: _, ...rest } = body
  // A client secret requires a client id.
  if (body['auth']?.clientSecret !== undefined && body['auth'].clientId === undefined) {
    return together(id, { ...body, auth: { clientId: 'given', ...body['auth'] } })
  }
  // Only platform keys can set a return URL.
  if (id === 'signInConnector') return {}
  if (id === 'createConnector') return { url: 'https://mcp.example.com/', ...rest }
  // Auto-recharge requires a saved payment method.
  const { autoRecharge: _auto, ...told } = body
  if (id === 'updateAccount') return Object.keys(told).length > 0 ? told : undefined
  if (id === 'updateSession' || id === 'updateConnector' || id === 'updateWebhook' || id === 'updateUser') {
    return Object.keys(body).length > 0 ? body : undefined
  }
  if (id === 'createTask' || id === 'createSession' || id === 'chat') return rest
  // A reset period requires a limit.
  const { limitReset: _reset, ...unlimited } = body
  if (id === 'createKey' || id === 'createUserKey') return body['limitUsd'] === undefined ? unlimited : body
  if (id === 'updateKey') {
    const changes = typeof body['limitUsd'] === 'string' ? body : unlimited
    return Object.keys(changes).length > 0 ? changes : undefined
  }
  // A token for one task cannot start executions, and a token for a session cannot be limited to a task.
  const { maxCostUsd: _cap, once: _once, taskId: _taskId, ...bound } = body
  if (id === 'createClientToken') {
    if (body['taskId'] !== undefined && body['sessionId'] === undefined) return { ...bound, taskId: body['taskId'] }
    return body['scopes'] === undefined || body['scopes'].includes('execute') ? { ...body, taskId: undefined } : bound
  }
  // The balances of a new user with a password, and of a new user with a key.
  if (id === 'eraseAccount') return { password }
  if (id === 'eraseUser') return { forfeitBalanceUsd: '10' }
  const { chat, task } = body
  if (id === 'createQuote') {
    // A quote is for either a session or an agent, and only the latter takes connectors.
    const { agentId, connectorIds, continues: _, sessionId, ...message } = chat ?? {}
    const to = agentId === undefined ? { sessionId } : { agentId, connectorIds }
    if (task || (agentId ?? sessionId) === undefined) return task && { task }
    return { chat: { ...to, ...message } }
  }
  return body
}

export function validBody(world: World, operation: Operation): fc.Arbitrary<unknown> {
  const schema = bodySchemaOf(operation)
  if (!schema) return fc.constant(undefined)
  const known = knownOf(world, operation)
  const email = operation.id === 'logIn' ? { email: fc.constant(world.person.email) } : {}
  const bodies = validValue(schema, { at: '', known: { ...known, ...email } }) as fc.Arbitrary<Json>
  return bodies.map((body) => together(operation.id, body)).filter((body) => body !== undefined)
}

/**
 * Returns ids of objects that are not the caller's, for operations on another user's key, a platform key, or a user's
 * task or login.
 */
function othersIds({ ids, person }: World, { id }: Operation): Record<string, string | undefined> {
  if (id === 'getUserTask' || id === 'endUserLogin') return { userId: person.userId }
  if (id === 'findOwner') return { resourceId: ids['taskId'] }
  if (id === 'revokeUserKey') return { keyId: ids['othersKeyId'] }
  if (id === 'revokePlatformClientToken') return { keyId: ids['platformKeyId'], tokenId: ids['platformTokenId'] }
  return ['getPlatformKey', 'revokePlatformKey'].includes(id) ? { keyId: ids['platformKeyId'] } : {}
}

/** Generates valid requests for the operation, with ids of that world's objects. */
export function validDraft(world: World, operation: Operation): fc.Arbitrary<Draft> {
  const named = { ...world.ids, ...othersIds(world, operation) }
  const path = Object.fromEntries(parametersOf(operation, 'path').map(({ name }) => [name, named[name] ?? '']))
  // Omits the cursor, because only a response contains a valid one.
  const parameters = parametersOf(operation, 'query').filter(({ name }) => name !== 'after')
  const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name)
  const queries = parameters.map(({ name, schema }) => [
    name,
    validValue(schema, { at: name, known: knownQuery }).map(queryValue),
  ])
  return fc.record({
    path: fc.constant(path),
    query: fc.record(Object.fromEntries(queries), { requiredKeys }) as fc.Arbitrary<Draft['query']>,
    body: validBody(world, operation),
  })
}

function queryValue(value: unknown): string | string[] {
  return Array.isArray(value) ? value.map(String) : String(value)
}

export function targetOf({ path: template }: Operation, { path, query }: Pick<Draft, 'path' | 'query'>): string {
  const filled = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path[name]!))
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value].flat().map((one) => `${name}=${encodeURIComponent(one)}`),
  )
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`
}

export const jsonType = 'Content-Type: application/json'

export function restRequest(operation: Operation, draft: Draft, lines: readonly string[]): Buffer {
  const start = `${operation.method} ${targetOf(operation, draft)}`
  return draft.body === undefined
    ? rawRequest(start, lines)
    : rawRequest(start, [...lines, jsonType], JSON.stringify(draft.body))
}

type Procedure = { path: string; type: 'query' | 'mutation' }

const procedures = new Map(
  Object.entries(proceduresOf(describedRouter)).map(([path, procedure]) => {
    const { meta, type } = procedure._def as unknown as { meta: ProcedureMeta; type: Procedure['type'] }
    // `chat.stream` is the only stream with the same rejections over typed RPC and REST.
    return [meta.openapi?.operationId ?? (path === 'chat.stream' ? 'chat' : path), { path, type }]
  }),
)

/** Returns the operation's typed RPC procedure, which only the payload download does not have. */
export function procedureOf({ id }: Operation): Procedure | undefined {
  return procedures.get(id)
}

export function rpcRequest({ path, type }: Procedure, input: unknown, lines: readonly string[]): Buffer {
  const json = JSON.stringify({ json: input })
  if (type === 'mutation') return rawRequest(`POST /trpc/${path}`, [...lines, jsonType], json)
  return rawRequest(`GET /trpc/${path}?input=${encodeURIComponent(json)}`, lines)
}
