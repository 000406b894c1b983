import type { Scope } from '../../store/access/key-types.ts'
import { requireReach, type Reach } from '../../procedures/token-reach.ts'
import { requireScope } from '../../procedures/caller.ts'
import type { RoutedRequest } from '../../http/routed-request.ts'
import type { Route } from '../../http/route-table.ts'
import { must } from '../../kernel/assert.ts'
import { createCompletion } from './chat/create-completion.ts'
import { getModel, listModels } from './models.ts'
import { createResponse, streamResponse } from './responses/create-response.ts'
import { cancelResponse, deleteResponse, openResponse, readResponse } from './responses/read-response.ts'
import { ResponseEvents } from './responses/response-events.ts'
import type { OpenaiParts } from './openai-parts.ts'
import { callerOf } from './start-reply.ts'
import { badParam, wireForm } from './wire-error.ts'

const read = ['GET', 'HEAD']
const reading: readonly Scope[] = ['read', 'execute']

/**
 * Additional headers that cross-origin pages may send to these routes, including the many that OpenAI's client uses to
 * describe itself.
 */
const allowedHeaders = [
  'Errand-Session',
  'OpenAI-Beta',
  'OpenAI-Organization',
  'OpenAI-Project',
  ...['Arch', 'Async', 'Helper-Method', 'Lang', 'OS', 'Package-Version', 'Poll-Helper', 'Custom-Poll-Interval'].map(
    (name) => `X-Stainless-${name}`,
  ),
  ...['Retry-Count', 'Runtime', 'Runtime-Version', 'Timeout'].map((name) => `X-Stainless-${name}`),
]

/** OpenAI-compatible routes. Agents that support chat appear as models. */
export function openaiRoutes(parts: OpenaiParts): Route[] {
  const creates = { methods: ['POST'], body: 'object', takesIdempotencyKey: true } as const
  return [
    {
      ...operation('openaiListModels', { path: '/v1/models', scopes: reading, reach: 'account' }),
      handle: (routed) => listModels(modelsOf(parts, routed)),
    },
    {
      ...operation('openaiGetModel', { path: '/v1/models/{model}', scopes: reading, reach: 'account' }),
      handle: (routed) => getModel(modelsOf(parts, routed), routed.params['model']!),
    },
    {
      ...operation('openaiCreateCompletion', { path: '/v1/chat/completions', scopes: ['execute'], reach: 'session' }),
      ...creates,
      handle: (routed, body) => createCompletion(parts, routed, body),
    },
    {
      ...operation('openaiCreateResponse', { path: '/v1/responses', scopes: ['execute'], reach: 'session' }),
      ...creates,
      handle: (routed, body) => createResponse(parts, routed, body),
    },
    {
      ...operation('openaiGetResponse', { path: '/v1/responses/{id}', scopes: reading, reach: 'session' }),
      handle: (routed) => retrieve(parts, routed),
    },
    {
      ...operation('openaiDeleteResponse', { path: '/v1/responses/{id}', scopes: ['execute'], reach: 'account' }),
      methods: ['DELETE'],
      handle(routed) {
        routed.context.shared.writeRate.count(callerOf(routed).userId)
        return deleteResponse(parts, named(routed))
      },
    },
    {
      ...operation('openaiCancelResponse', {
        path: '/v1/responses/{id}/cancel',
        scopes: ['execute'],
        reach: 'session',
      }),
      methods: ['POST'],
      body: 'optional object',
      handle: (routed) => cancelResponse(parts, named(routed)),
    },
  ]
}

type Operation = { path: string; scopes: readonly Scope[]; reach: Reach }

function operation(name: string, { path, reach, scopes }: Operation): Omit<Route, 'handle'> {
  return {
    methods: read,
    path,
    operation: name,
    isGated: true,
    auth(caller) {
      requireScope(caller, ...scopes)
      requireReach(caller, reach)
    },
    allowedHeaders,
    form: wireForm,
  }
}

function modelsOf({ catalogue }: OpenaiParts, routed: RoutedRequest) {
  return { caller: callerOf(routed), catalogue }
}

function named(routed: RoutedRequest) {
  return { caller: callerOf(routed), id: must(routed.params['id'], 'the path has an id') }
}

async function retrieve(parts: OpenaiParts, routed: RoutedRequest): Promise<unknown> {
  const query = new URLSearchParams(routed.query)
  if (query.get('stream') !== 'true') return await readResponse(parts, named(routed))
  const after = query.get('starting_after')
  if (after !== null && !/^\d{1,9}$/.test(after)) {
    throw badParam('starting_after', 'Must be the sequence_number of an event')
  }
  const { asked, createdAt, reader, turnId } = await openResponse(parts, routed, named(routed).id)
  const events = new ResponseEvents({ turnId, asked, createdAt, after: after === null ? -1 : Number(after) })
  const reply = { turnId, next: () => reader.next(), detach: () => reader.leave(), told: () => {} }
  return await streamResponse(parts, routed, { events, reply })
}
