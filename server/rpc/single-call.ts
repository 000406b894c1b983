import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AnyProcedure } from '@trpc/server'
import { disconnectSignal } from '../http/disconnect-signal.ts'
import { directCall } from './call-procedure.ts'
import type { Context } from './context.ts'
import { envelope } from './envelope.ts'
import { rootRouter } from './root-router.ts'
import type { ProcedureMeta } from './trpc.ts'

type SingleCall = {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: string
  /** The text of a POST's body. */
  body: string | undefined
}

/** Makes the call: `data` of the answer, still in its envelope. */
type Call = (context: Context) => Promise<unknown>

const calls = new Map(
  Object.entries(rootRouter._def.procedures as unknown as Record<string, AnyProcedure>).flatMap(([path, procedure]) => {
    const { meta, type } = procedure._def as unknown as { type: string; meta: ProcedureMeta | undefined }
    return meta?.isStream ? [] : [[`${type === 'query' ? 'GET' : 'POST'} ${path}`, directCall(procedure)]]
  }),
)

/**
 * The plain form of a call: one query or mutation, outside a batch, with its input as JSON. It means what it means to
 * tRPC's own handler, which makes a fetch Request, a Response and their streams of each call: two thirds of the time of
 * a submission. Undefined for everything else, malformed input too, which is tRPC's to answer.
 */
export function singleCall({ body, path, query, request, response }: SingleCall): Call | undefined {
  const call = calls.get(`${request.method} ${path}`)
  const { 'content-type': type, 'trpc-accept': accept } = request.headers
  if (!call || accept !== undefined) return undefined
  if (type === undefined ? request.method === 'POST' : !type.startsWith('application/json')) return undefined
  const text = request.method === 'POST' ? (query === '' ? body : undefined) : inputOf(query)
  const sent = text === undefined ? undefined : parse(text)
  if (sent === undefined) return undefined
  return async (context) => {
    const signal = query === '' ? undefined : disconnectSignal(response)
    return envelope.serialize(await call({ context, input: envelope.deserialize(sent), signal }))
  }
}

/** The text of `input`, if that is all there is in the query. */
function inputOf(query: string): string | undefined {
  if (!query.startsWith('input=') || query.includes('&')) return undefined
  return new URLSearchParams(query).get('input') ?? undefined
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}
