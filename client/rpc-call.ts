import { TRPCClientError, type TRPCClient } from '@trpc/client'
import type { AppRouter } from '../server/rpc/root-router.ts'
import { RpcAnswer } from './checked-fetch.ts'
import { ErrandClientError } from './client-error.ts'
import type { Connection } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { createRpc, type SendContext } from './rpc-links.ts'

export type CallOptions = {
  /** Ends the call at once; it rejects with the signal's reason. */
  signal?: AbortSignal | undefined
}

type Send = SendContext & {
  /** How long the service was asked to hold its answer. */
  waitSeconds?: number | undefined
}

type Request<T> = (
  rpc: TRPCClient<AppRouter>,
  options: { signal: AbortSignal; context: Record<string, unknown> },
) => Promise<T>

/** Makes one call: bounded in time, ended by its signal, and failing with an ErrandClientError only. */
export type Call = <T>(options: CallOptions & Send, request: Request<T>) => Promise<T>

export function createCall(connection: Connection): Call {
  const rpc = createRpc(connection)
  const { requestTimeoutMs } = connection
  return async ({ signal, waitSeconds = 0, ...context }, request) => {
    const timeoutMs = requestTimeoutMs + waitSeconds * 1000
    try {
      return await withDeadline({ signal, timeoutMs, createTimeoutError: () => noAnswer(timeoutMs) }, (own) =>
        request(rpc, { signal: own, context }),
      )
    } catch (thrown) {
      // An abort makes whatever was under way fail too; the caller is told the reason that it gave.
      signal?.throwIfAborted()
      throw toClientError(thrown)
    }
  }
}

function noAnswer(timeoutMs: number): ErrandClientError {
  return new ErrandClientError('TIMEOUT', `The service did not answer within ${timeoutMs} ms.`)
}

function toClientError(thrown: unknown): ErrandClientError {
  if (thrown instanceof ErrandClientError) return thrown
  if (thrown instanceof TRPCClientError) {
    const { cause, data, message, meta } = thrown as TRPCClientError<AppRouter>
    if (cause instanceof ErrandClientError) return cause
    const answer = meta?.['response']
    const requestId = answer instanceof RpcAnswer ? answer.requestId : undefined
    if (typeof data?.errorCode === 'string') {
      const { errorCode, httpStatus, details, retryAfterSeconds } = data
      return new ErrandClientError(errorCode, message, { status: httpStatus, details, retryAfterSeconds, requestId })
    }
  }
  return new ErrandClientError('BAD_RESPONSE', 'The answer of the service could not be read.', { cause: thrown })
}
