import type { AnyProcedure } from '@trpc/server'
import { assert } from '../../kernel/assert.ts'
import { badField } from '../../kernel/errors.ts'
import { directCall } from '../../procedures/call-procedure.ts'
import { proceduresOf, type AppRouter } from '../root-router.ts'
import { accessOf, definitionOf } from '../../procedures/procedure.ts'
import { restForm } from '../../http/answer-forms.ts'
import { tableForm } from './table-form.ts'
import { eventsForm, linesForm } from './stream-forms.ts'
import { disconnectSignal, streamReader } from '../../http/limits/disconnect-signal.ts'
import { queryFields, readQuery } from './query-input.ts'
import type { Route } from '../../http/route-table.ts'
import type { RoutedRequest } from '../../http/routed-request.ts'

export const read = ['GET', 'HEAD']

/** Derives the REST routes from the `openapi` metadata of the procedures, so that each path is defined only once. */
export function restRoutes(router: AppRouter): Route[] {
  return Object.values(proceduresOf(router)).flatMap(toRoute)
}

function toRoute(procedure: AnyProcedure): Route[] {
  const { inputs, meta, output, type } = definitionOf(procedure)
  if (!meta?.openapi) return []
  assert(type === 'query' || type === 'mutation', 'a REST operation is a query or a mutation')
  const { method, operationId, path } = meta.openapi
  const call = directCall(procedure)
  const hasBody = method !== 'GET' && method !== 'DELETE'
  const fields = queryFields(inputs[0])
  return [
    {
      methods: method === 'GET' ? read : [method],
      path,
      operation: operationId,
      isGated: true,
      auth: accessOf(procedure),
      body: hasBody ? (meta.isBodyOptional ? 'optional object' : 'object') : undefined,
      takesIdempotencyKey: hasBody && meta.isIdempotent === true,
      form: meta.isTable ? tableForm(output) : restForm,
      handle({ context, params, query, response }, body) {
        // Add the path params to the body itself. Copying a body with many unknown fields would take as long as parsing
        // it.
        const input = Object.assign(hasBody ? (body as object) : readQuery(query, fields), params)
        // Only long polls need the signal, because the client may disconnect while they wait. Without a query string,
        // only operations with `isHeld` are long polls.
        const signal = query === '' && !meta.isHeld ? undefined : disconnectSignal(response)
        return call({ context, input, signal })
      },
    },
  ]
}

export function streamRoutes({ chat, tasks }: AppRouter, stallMs: number): Route[] {
  return [
    {
      ...streamed(chat.stream, stallMs),
      methods: ['POST'],
      path: '/api/chat',
      operation: 'chat',
      body: 'object',
      takesIdempotencyKey: true,
      form: linesForm,
    },
    {
      ...streamed(chat.resume, stallMs, lastEventId),
      methods: ['GET'],
      path: '/api/chat/{turnId}/events',
      operation: 'readChat',
      form: linesForm,
    },
    {
      ...streamed(chat.resumeSession, stallMs),
      methods: ['GET'],
      path: '/api/sessions/{sessionId}/stream',
      operation: 'readSessionChat',
      form: linesForm,
    },
    {
      ...streamed(tasks.events, stallMs),
      methods: ['GET'],
      path: '/api/tasks/{taskId}/events',
      operation: 'followTask',
      form: eventsForm,
    },
  ]
}

function lastEventId({ request }: RoutedRequest): object {
  const { 'last-event-id': last = '' } = request.headers
  if (last === '') return {}
  if (typeof last === 'string' && /^\d{1,15}$/.test(last)) return { after: Number(last) }
  throw badField('Last-Event-ID', 'Must be the id of an event in this stream')
}

type Streamed = Pick<Route, 'isGated' | 'auth' | 'handle'>

function streamed(procedure: AnyProcedure, stallMs: number, more?: (routed: RoutedRequest) => object): Streamed {
  const call = directCall(procedure)
  const fields = queryFields(definitionOf(procedure).inputs[0])
  return {
    isGated: true,
    auth: accessOf(procedure),
    handle(routed, body) {
      const { context, params, query, response } = routed
      context.stream = streamReader(response, stallMs)
      const input = body ?? { ...more?.(routed), ...readQuery(query, fields), ...params }
      return call({ context, input, signal: undefined })
    },
  }
}
