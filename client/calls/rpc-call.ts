import { repeatWhileTransient, retryPauseMsMax } from '../backoff.ts'
import { ErrandClientError } from '../client-error.ts'
import { checkRetries, checkTimeout, type Connection } from '../connection.ts'
import { pause, withDeadline } from '../deadline.ts'
import type { Input, Operation, Output } from '../types/client-types.ts'
import { toCallPromise, type CallPromise, type WithResponse } from './call-promise.ts'
import { createSendRpc, type RpcRequest } from './send-rpc.ts'

export type CallOptions = {
  /** Aborts the call immediately. The call then rejects with the signal's reason. */
  signal?: AbortSignal | undefined
  /** Overrides the client's `maxRetries` for this call. */
  maxRetries?: number | undefined
  /** Overrides the client's `requestTimeoutMs` for this call. */
  requestTimeoutMs?: number | undefined
}

export type CallRequest<Name extends Operation> = Pick<RpcRequest, 'isQuery' | 'idempotencyKey' | 'isAlone'> & {
  input: Input<Name>
  /** Whether the operation is an idempotent change, which may be retried. */
  isRepeatable?: boolean | undefined
  /** Long-poll time in the request's input. It is added to the timeout. */
  waitSeconds?: number | undefined
  /** Called before the request. If it throws, no request is sent and the call rejects with that error. */
  check?: (() => void) | undefined
}

/** Makes one call with a timeout and an abort signal. Unless aborted, it rejects only with an ErrandClientError. */
export type Call = <Name extends Operation>(
  operation: Name,
  request: CallRequest<Name>,
  options?: CallOptions,
) => CallPromise<Output<Name>>

export function createCall(connection: Connection): Call {
  const send = createSendRpc(connection)

  async function make<Name extends Operation>(
    operation: Name,
    { check, isRepeatable = false, waitSeconds = 0, ...request }: CallRequest<Name>,
    { signal, maxRetries = connection.maxRetries, requestTimeoutMs = connection.requestTimeoutMs }: CallOptions,
  ): Promise<WithResponse<Output<Name>>> {
    check?.()
    checkRetries(maxRetries)
    checkTimeout('requestTimeoutMs', requestTimeoutMs)
    const timeoutMs = requestTimeoutMs + waitSeconds * 1000
    const deadline = { signal, timeoutMs, createTimeoutError: () => noAnswer(timeoutMs) }
    const mayRepeat = isRepeatable || request.isQuery || request.idempotencyKey !== undefined
    const repetition = {
      failuresMax: mayRepeat ? maxRetries + 1 : 1,
      pauseMsMax: retryPauseMsMax,
      pause: (ms: number) => pause(ms, signal),
      onFailure: (error: ErrandClientError, delayMs: number, retry: number) =>
        connection.onRetry({ operation, error, delayMs, retry }),
    }
    try {
      const attempt = () => withDeadline(deadline, (own) => send({ operation, ...request, signal: own }))
      return (await repeatWhileTransient(repetition, attempt)) as WithResponse<Output<Name>>
    } catch (thrown) {
      // If the call was aborted, throw the abort reason instead of the resulting request failure.
      signal?.throwIfAborted()
      if (thrown instanceof ErrandClientError) throw thrown
      throw new ErrandClientError('BAD_RESPONSE', "Could not read the service's response. Check baseUrl.", {
        cause: thrown,
      })
    }
  }

  return (operation, request, options = {}) => toCallPromise(make(operation, request, options))
}

function noAnswer(timeoutMs: number): ErrandClientError {
  return new ErrandClientError(
    'TIMEOUT',
    `The service did not respond within ${timeoutMs} ms. Try again or allow more time.`,
  )
}
