import { initTRPC, TRPCError, type AnyProcedure } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_KEY, type TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import { ZodError } from 'zod'
import { badInput } from '../agents/config/params-schema.ts'
import type { Caller } from '../auth/caller.ts'
import { requireAdmin, requirePlatform, requireScope } from '../auth/caller.ts'
import { assertReached, requireReach, type Reach } from '../auth/client-tokens/token-reach.ts'
import { assert } from '../kernel/assert.ts'
import { badField, ErrandError, errorBody, toErrandError } from '../kernel/errors.ts'
import type { PlatformScope } from '../store/platform/platform-records.ts'
import type { Scope } from '../store/records.ts'
import type { CallerContext, Context } from './context.ts'
import { envelope } from './envelope.ts'

/** How a procedure stands in the REST interface and its OpenAPI document. */
export type RestMeta = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With parameters as `{name}`. */
  path: `/${string}`
  operationId: string
  tags: string[]
  summary: string
  description?: string
  /** False for an operation that needs no authentication. */
  protect: boolean
  successDescription: string
  /** Every status but 200 that the operation answers, beside those that all operations share. */
  errorResponses: Record<number, string>
}

export type ProcedureMeta = {
  openapi?: RestMeta
  isIdempotent?: boolean
  isBodyOptional?: boolean
  isStream?: boolean
  /** Its answer may be held, so that it is told when its client leaves. */
  isHeld?: boolean
  /** Needs no authentication, and is called alone, never in a batch. */
  isPublic?: boolean
}

/** tRPC's own name of a status, which its clients compare; it has none for 408, 410, 417, 424 and 431. */
const rpcCodes: Readonly<Record<number, TRPC_ERROR_CODE_KEY>> = {
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_SUPPORTED',
  409: 'CONFLICT',
  410: 'NOT_FOUND',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_SERVER_ERROR',
  503: 'SERVICE_UNAVAILABLE',
}

/**
 * An error as a client of typed RPC reads it. Built anew, so that neither a stack trace nor the text of an unforeseen
 * error leaves the server.
 */
export function rpcError(error: ErrandError, path?: string) {
  const { message, details, statusCode } = errorBody(error)
  const code = rpcCodes[statusCode] ?? 'BAD_REQUEST'
  return {
    code: TRPC_ERROR_CODES_BY_KEY[code],
    message,
    data: {
      code,
      httpStatus: statusCode,
      ...(path !== undefined && { path }),
      errorCode: error.code,
      ...(details && { details }),
      ...(error.retryAfterSeconds !== undefined && { retryAfterSeconds: error.retryAfterSeconds }),
    },
  }
}

const t = initTRPC
  .context<Context>()
  .meta<ProcedureMeta>()
  .create({
    transformer: envelope,
    errorFormatter: ({ shape, error }) => rpcError(errandErrorOf(error), shape.data.path),
  })

export const { router } = t

/** A procedure; its resolver says by `withScope` or `withAdmin` whom it is for. */
export const procedure = t.procedure

/** Throws 403 unless the caller may call a procedure. */
export type AccessCheck = (caller: Caller) => void

/** What a caller may be known by, as the OpenAPI document names it. */
export type Credential = 'apiKey' | 'browserSession' | 'platformKey' | 'clientToken'

/** By the resolver that it is for. */
const accesses = new WeakMap<object, { check: AccessCheck; credentials: readonly Credential[] }>()

/** What a procedure asks of its caller, so that no body is read for one who may not send it; null of a public one. */
export function accessOf({ _def: definition }: AnyProcedure): AccessCheck | null {
  const { meta, resolver } = definition as unknown as { meta?: ProcedureMeta; resolver: object }
  const access = accesses.get(resolver)
  assert((access === undefined) === (meta?.isPublic === true), 'a procedure says whom it is for, or is public')
  return access?.check ?? null
}

/** With what a procedure is called; empty for one that is public. */
export function credentialsOf({ _def: definition }: AnyProcedure): readonly Credential[] {
  return accesses.get((definition as unknown as { resolver: object }).resolver)?.credentials ?? []
}

type Resolver<Options, Output> = (options: Options) => Output
type WithCaller<Options> = Omit<Options, 'ctx'> & { ctx: CallerContext }

/**
 * A resolver whose caller must hold that scope, or one of several. A client token also needs the operation to be within its reach; one that
 * says nothing of tokens is closed to them. A middleware would say the same; each costs every call a copy of its
 * options, a tenth of the time of a read.
 */
export function withScope<Options extends { ctx: Context; input: unknown }, Output>(
  scope: Scope | readonly Scope[],
  resolve: Resolver<WithCaller<Options>, Output>,
  reach: Reach = 'none',
): Resolver<Options, Output> {
  const scopes = [scope].flat()
  const check = (caller: Caller) => {
    requireScope(caller, ...scopes)
    requireReach(caller, reach)
  }
  const credentials: Credential[] = ['apiKey', 'browserSession']
  // Acting for a user it has never the scope `manage`.
  if (scopes.some((one) => one !== 'manage')) credentials.push('platformKey')
  if (reach !== 'none') credentials.push('clientToken')
  if (reach !== 'session' && reach !== 'task') return guarded({ check, credentials }, resolve)
  return guarded<Options, Output>({ check, credentials }, (options) => {
    assertReached(options.ctx.caller, options.input, reach)
    return resolve(options)
  })
}

/**
 * As `withScope`, of a change that is no execution: the user may make so many of them in a minute. What ends keys and
 * logins is not counted, or one stolen key could keep its owner from ending it.
 */
export function withWrite<Options extends { ctx: Context; input: unknown }, Output>(
  scope: Scope | readonly Scope[],
  resolve: Resolver<WithCaller<Options>, Output>,
  reach: Reach = 'none',
): Resolver<Options, Output> {
  const counted = (options: WithCaller<Options>) => {
    const { caller, services } = options.ctx
    services.writeRate.count(caller.userId)
    return resolve(options)
  }
  return withScope(scope, counted, reach)
}

/** A resolver whose caller must be an admin who has logged in with a browser. */
export function withAdmin<Options extends { ctx: Context }, Output>(
  resolve: Resolver<WithCaller<Options>, Output>,
): Resolver<Options, Output> {
  return guarded({ check: requireAdmin, credentials: ['browserSession'] }, resolve)
}

/** A resolver whose caller must be such an admin, or a platform key with that scope, or with one of these. */
export function withPlatform<Options extends { ctx: Context }, Output>(
  scope: PlatformScope | readonly PlatformScope[],
  resolve: Resolver<WithCaller<Options>, Output>,
): Resolver<Options, Output> {
  const scopes = [scope].flat()
  const check = (caller: Caller) => {
    const held = scopes.find((one) => caller.platform?.scopes.includes(one))
    requirePlatform(caller, held ?? scopes[0]!)
  }
  return guarded({ check, credentials: ['browserSession', 'platformKey'] }, resolve)
}

function guarded<Options extends { ctx: Context }, Output>(
  access: { check: AccessCheck; credentials: readonly Credential[] },
  resolve: Resolver<WithCaller<Options>, Output>,
): Resolver<Options, Output> {
  const own = (options: Options) => {
    access.check(callerOf(options.ctx))
    return resolveIn(options, resolve)
  }
  accesses.set(own, access)
  return own
}

/** What the resolver makes of a call, in a batch as one of its calls. */
function resolveIn<Options extends { ctx: Context }, Output>(
  options: Options,
  resolve: Resolver<WithCaller<Options>, Output>,
): Output {
  const make = () => resolve(options as unknown as WithCaller<Options>)
  const { batch } = options.ctx
  // A promise is taken wherever an output is.
  return batch ? (batch.call(make) as Output) : make()
}

/** Throws 401 without a caller, which no operation that is not public gets as far as. */
export function callerOf({ caller }: Context): Caller {
  if (caller) return caller
  throw new ErrandError('UNAUTHORIZED', 'Authentication is required.')
}

/** The error of ours behind what tRPC threw: a refusal, or the details of input that its schema refused. */
export function errandErrorOf(error: unknown): ErrandError {
  if (!(error instanceof TRPCError)) return toErrandError(error)
  const { cause, code } = error
  if (cause instanceof ErrandError) return cause
  if (cause instanceof ZodError && code === 'BAD_REQUEST') return badInput(cause.issues)
  if (code === 'BAD_REQUEST') return badField('', 'The request is malformed.')
  if (code === 'NOT_FOUND') return new ErrandError('NOT_FOUND', 'There is no such operation.')
  if (code === 'METHOD_NOT_SUPPORTED')
    return new ErrandError('METHOD_NOT_ALLOWED', 'Use another method for this operation.')
  if (code === 'PAYLOAD_TOO_LARGE') return new ErrandError('PAYLOAD_TOO_LARGE', 'The request body is too large.')
  if (code === 'UNSUPPORTED_MEDIA_TYPE') return new ErrandError('UNSUPPORTED_MEDIA_TYPE', 'Send application/json.')
  if (code === 'PARSE_ERROR') {
    return new ErrandError('BAD_REQUEST', 'The request is malformed.', {
      details: [{ path: '', message: 'Malformed' }],
    })
  }
  return toErrandError(cause ?? error)
}
