import type { AnyProcedure } from '@trpc/server'
import type { ZodType } from 'zod'
import { decodeSegment } from '../server/kernel/request-url.ts'
import { assert } from '../server/kernel/assert.ts'
import { badField } from '../server/kernel/errors.ts'
import { rootRouter } from '../server/rpc/root-router.ts'
import { accessOf, type AccessCheck, type ProcedureMeta } from '../server/rpc/trpc.ts'
import { directCall } from '../server/rpc/call-procedure.ts'
import { queryFields, type QueryFields } from './query-input.ts'

export type RestRoute = {
  /** Its operationId. */
  operation: string
  method: string
  path: string
  segments: readonly string[]
  call: ReturnType<typeof directCall>
  /** Null for a public operation. */
  access: AccessCheck | null
  isIdempotent: boolean
  isPublic: boolean
  hasBody: boolean
  /** Whether a request without any body stands for an empty object. */
  isBodyOptional: boolean
  query: QueryFields
}

type Match = { route: RestRoute; segments: readonly string[] } | { allow: string } | undefined

/** The REST routes, read off the procedures' own `openapi` meta, so that no path is written twice. */
export class RestRoutes {
  /** By the number of segments of their path. */
  readonly #routes: ReadonlyMap<number, RestRoute[]> = Map.groupBy(
    Object.values(rootRouter._def.procedures as unknown as Record<string, AnyProcedure>).flatMap(toRoute),
    ({ segments }) => segments.length,
  )

  /** Undefined for an unknown path; the allowed methods when only the method is wrong. */
  match(method: string, path: string): Match {
    const segments = path.split('/')
    const allowed: string[] = []
    for (const route of this.#routes.get(segments.length) ?? []) {
      if (!fits(route.segments, segments)) continue
      if (route.method === method) return { route, segments }
      allowed.push(...(route.method === 'GET' ? ['GET', 'HEAD'] : [route.method]))
    }
    return allowed.length > 0 ? { allow: [...allowed, 'OPTIONS'].join(', ') } : undefined
  }

  /** The methods of a path, for Allow; undefined when nothing is there. */
  methodsOf(path: string): string | undefined {
    const match = this.match('OPTIONS', path)
    return match && 'allow' in match ? match.allow : undefined
  }
}

function fits(route: readonly string[], segments: readonly string[]): boolean {
  for (let index = 0; index < route.length; index++) {
    const part = route[index]!
    if (part.startsWith('{') ? segments[index] === '' : part !== segments[index]) return false
  }
  return true
}

/** What stands in the path for the route's parameters. Throws 400 for a broken encoding. */
export function readPath(route: RestRoute, segments: readonly string[]): Record<string, string> {
  const input: Record<string, string> = {}
  for (const [index, part] of route.segments.entries()) {
    if (!part.startsWith('{')) continue
    const name = part.slice(1, -1)
    const value = decodeSegment(segments[index]!)
    if (value === undefined) throw badField(name, 'The percent-encoding of the path is broken')
    input[name] = value
  }
  return input
}

function toRoute(procedure: AnyProcedure): RestRoute[] {
  const { type, meta, inputs } = procedure._def as unknown as {
    type: string
    meta: ProcedureMeta | undefined
    inputs: readonly ZodType[]
  }
  if (!meta?.openapi) return []
  assert(type === 'query' || type === 'mutation', 'a REST operation is a query or a mutation')
  const { method, operationId, path } = meta.openapi
  return [
    {
      operation: operationId,
      method,
      path,
      segments: path.split('/'),
      call: directCall(procedure),
      access: accessOf(procedure),
      isIdempotent: meta.isIdempotent === true,
      isPublic: meta.isPublic === true,
      isBodyOptional: meta.isBodyOptional === true,
      hasBody: method === 'POST' || method === 'PATCH',
      query: queryFields(inputs[0]),
    },
  ]
}
