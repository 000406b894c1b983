import type { CallerScope } from '../store/access/key-types.ts'
import { initTRPC, TRPCError, type AnyProcedure } from '@trpc/server'
import { TRPC_ERROR_CODES_BY_KEY, type TRPC_ERROR_CODE_KEY } from '@trpc/server/rpc'
import { ZodError, type ZodType } from 'zod'
import { badInput } from '../kernel/bad-input.ts'
import { platformOf, requireAdmin, requirePlatform, requireScope, senderOf, type AnyCaller } from './caller.ts'
import { assertReached, requireReach, type Reach } from './token-reach.ts'
import { assert } from '../kernel/assert.ts'
import { badField, ErrandError, errorBody, toErrandError } from '../kernel/errors.ts'
import type { PlatformScope } from '../store/platform/platform-types.ts'
import type { CallerContext, Context, PlatformContext } from './context.ts'
import { envelope } from './envelope.ts'

export type RestMeta = {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Path with parameters as `{name}`. */
  path: `/${string}`
  operationId: string
  tags: string[]
  summary: string
  description?: string
  protect: boolean
  successDescription: string
  /** Error responses by status, excluding those common to all operations. */
  errorResponses: Record<number, string>
}

export type ProcedureMeta = {
  openapi?: RestMeta
  isIdempotent?: boolean
  isBodyOptional?: boolean
  isStream?: boolean
  /** Whether the operation supports long polls. If so, it gets a signal that aborts when the client disconnects. */
  isHeld?: boolean
  isTable?: boolean
  /** Whether the operation requires no authentication. If so, it cannot be called in a batch. */
  isPublic?: boolean
}

/** tRPC's code for each HTTP status. 410 uses the code for 404, and statuses that are not listed use BAD_REQUEST. */
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
 * Creates the error body for typed RPC. It contains only listed fields, so clients see neither stack traces nor
 * messages of unexpected errors.
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

/** Base of all procedures. Resolvers declare who may call them with `withScope`, `withAdmin` or a similar wrapper. */
export const procedure = t.procedure

export type AccessCheck = (caller: AnyCaller) => void

export type Credential = 'apiKey' | 'browserSession' | 'platformKey' | 'clientToken'

const accesses = new WeakMap<object, { check: AccessCheck; credentials: readonly Credential[] }>()

/**
 * The parts of tRPC's internal procedure definition that we use. The version of tRPC is pinned, and `directCall` checks
 * these parts at startup.
 */
type ProcedureDefinition = {
  type: string
  meta?: ProcedureMeta
  inputs: readonly ZodType[]
  output: ZodType | undefined
  middlewares: readonly unknown[]
  resolver: (options: { ctx: Context; input: unknown; signal: AbortSignal | undefined }) => unknown
}

export function definitionOf(of: AnyProcedure): ProcedureDefinition {
  return of._def as unknown as ProcedureDefinition
}

/** Returns the access check, which runs before the body is read. Null for a public procedure. */
export function accessOf(of: AnyProcedure): AccessCheck | null {
  const { meta, resolver } = definitionOf(of)
  const access = accesses.get(resolver)
  assert((access === undefined) === (meta?.isPublic === true), 'a procedure either has an access check or is public')
  return access?.check ?? null
}

/** Returns an empty array for a public procedure. */
export function credentialsOf(of: AnyProcedure): readonly Credential[] {
  return accesses.get(definitionOf(of).resolver)?.credentials ?? []
}

type Resolver<Options, Output> = (options: Options) => Output
type WithCaller<Options> = Omit<Options, 'ctx'> & { ctx: CallerContext }
type WithAnyCaller<Options> = Omit<Options, 'ctx'> & { ctx: PlatformContext }

/**
 * Wraps a resolver so that its caller must have the scope, or one of several scopes. Operations reject client tokens
 * unless `reach` allows them. This is not a middleware, because each middleware copies the options of every call, which
 * takes 10% of the time of a read request.
 */
export function withScope<Options extends { ctx: Context; input: unknown }, Output>(
  scope: CallerScope | readonly CallerScope[],
  resolve: Resolver<WithCaller<Options>, Output>,
  reach: Reach = 'none',
): Resolver<Options, Output> {
  const scopes = [scope].flat()
  const check = (caller: AnyCaller) => {
    requireScope(caller, ...scopes)
    requireReach(caller, reach)
  }
  const credentials: Credential[] = []
  if (scopes.some((one) => one !== 'pay' && one !== 'connectors')) credentials.push('apiKey', 'browserSession')
  // A platform key that acts on behalf of a user never has the `manage` scope.
  if (scopes.some((one) => one !== 'manage')) credentials.push('platformKey')
  if (reach !== 'none') credentials.push('clientToken')
  if (reach !== 'session' && reach !== 'task') return guarded({ check, credentials }, resolve)
  return guarded<Options, Output>({ check, credentials }, (options) => {
    assertReached(options.ctx.caller, options.input, reach)
    return resolve(options)
  })
}

/**
 * Like `withScope`, for changes other than executions. Each change counts toward the user's rate limit for writes.
 * Operations that revoke keys or end logins do not use it, because someone with a stolen key could otherwise exhaust
 * the limit to keep the owner from revoking it.
 */
export function withWrite<Options extends { ctx: Context; input: unknown }, Output>(
  scope: CallerScope | readonly CallerScope[],
  resolve: Resolver<WithCaller<Options>, Output>,
  reach: Reach = 'none',
): Resolver<Options, Output> {
  return withScope(scope, counted(resolve), reach)
}

function counted<Options extends { ctx: PlatformContext }, Output>(
  resolve: Resolver<Options, Output>,
): Resolver<Options, Output> {
  return (options) => {
    const { caller, shared } = options.ctx
    shared.writeRate.count(senderOf(caller))
    return resolve(options)
  }
}

/**
 * Wraps a resolver for objects that belong to a user or to the platform. The caller must be a user with `scope`, or a
 * platform key with `platformScope` that acts for itself.
 */
export function withOwner<Options extends { ctx: Context; input: unknown }, Output>(
  scope: CallerScope,
  platformScope: PlatformScope,
  resolve: Resolver<WithAnyCaller<Options>, Output>,
): Resolver<Options, Output> {
  const check = (caller: AnyCaller) => {
    if ('platform' in caller) return requirePlatform(caller, platformScope)
    requireScope(caller, scope)
    requireReach(caller, 'none')
  }
  return guarded({ check, credentials: ['apiKey', 'browserSession', 'platformKey'] }, resolve)
}

export function withOwnerWrite<Options extends { ctx: Context; input: unknown }, Output>(
  scope: CallerScope,
  platformScope: PlatformScope,
  resolve: Resolver<WithAnyCaller<Options>, Output>,
): Resolver<Options, Output> {
  return withOwner(scope, platformScope, counted(resolve))
}

export function withAdmin<Options extends { ctx: Context }, Output>(
  resolve: Resolver<WithCaller<Options>, Output>,
): Resolver<Options, Output> {
  return guarded({ check: requireAdmin, credentials: ['browserSession'] }, resolve)
}

/** The caller must be an admin with a browser login, or a platform key with one of the scopes. */
export function withPlatform<Options extends { ctx: Context }, Output>(
  scope: PlatformScope | readonly PlatformScope[],
  resolve: Resolver<WithAnyCaller<Options>, Output>,
): Resolver<Options, Output> {
  const scopes = [scope].flat()
  const check = (caller: AnyCaller) => {
    const held = scopes.find((one) => platformOf(caller)?.scopes.includes(one))
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

/** Runs the resolver. If the call is part of a batch, the batch decides when to run it. */
function resolveIn<Options extends { ctx: Context }, Output>(
  options: Options,
  resolve: Resolver<WithCaller<Options>, Output>,
): Output {
  const make = () => resolve(options as Options & { ctx: CallerContext })
  const { batch } = options.ctx
  // tRPC accepts a promise in place of a value.
  return batch ? (batch.call(make) as Output) : make()
}

export function callerOf({ caller }: Context): AnyCaller {
  if (caller) return caller
  throw new ErrandError('UNAUTHORIZED', 'Authentication is required. Send the header Authorization: Bearer <API_KEY>.')
}

/** Returns the error that caused a tRPC error, or the reasons why the schema rejected the input. */
export function errandErrorOf(error: unknown): ErrandError {
  if (!(error instanceof TRPCError)) return toErrandError(error)
  const { cause, code } = error
  if (cause instanceof ErrandError) return cause
  if (cause instanceof ZodError && code === 'BAD_REQUEST') return badInput(cause.issues)
  if (code === 'BAD_REQUEST') return badField('', 'The request is malformed. Check its body and parameters.')
  if (code === 'NOT_FOUND') return new ErrandError('NOT_FOUND', 'This operation does not exist. Check its name.')
  if (code === 'METHOD_NOT_SUPPORTED')
    return new ErrandError(
      'METHOD_NOT_ALLOWED',
      'This operation does not support this HTTP method. Use GET for queries and POST for mutations.',
    )
  if (code === 'PAYLOAD_TOO_LARGE')
    return new ErrandError('PAYLOAD_TOO_LARGE', 'The request body is too large. Send a smaller request.')
  if (code === 'UNSUPPORTED_MEDIA_TYPE')
    return new ErrandError('UNSUPPORTED_MEDIA_TYPE', 'The Content-Type is not supported. Send application/json.')
  if (code === 'PARSE_ERROR') {
    return new ErrandError('BAD_REQUEST', 'The request is malformed. Check its body and parameters.', {
      details: [{ path: '', message: 'Malformed' }],
    })
  }
  return toErrandError(cause ?? error)
}
