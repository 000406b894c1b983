import type { ServerResponse } from 'node:http'
import { isDebug, type Logger } from '../kernel/logger.ts'
import type { RequestTrace } from '../kernel/tracing/request-trace.ts'
import type { ServiceTracing } from '../kernel/tracing/service-tracing.ts'
import { shownPath } from '../kernel/request-url.ts'
import type { RoutedRequest } from './routed-request.ts'

type RequestEndsParts = {
  /** `seconds` is null for streams and long polls, because their duration says nothing about the service. */
  count: (request: { operation: string; status: number; seconds: number | null }) => void
  log: Logger
  tracing: ServiceTracing | undefined
}

/** Recorded as the status if the client disconnected before the response. Never sent. */
const clientLeft = 499

export type RequestEnds = {
  /** Reports that the response was sent or the client disconnected. `startedAt` comes from performance.now(). */
  ended: (routed: RoutedRequest, startedAt: number) => void
  /** Reports a request that Node's parser rejected, with the status of the error response. */
  unparsed: (status: number) => void
  /**
   * Reports a request that was turned away unread. It is not logged, because that would add load to an overloaded
   * service.
   */
  turnedAway: () => void
}

export function createRequestEnds({ count, log, tracing }: RequestEndsParts): RequestEnds {
  const isLogged = isDebug(log)
  const unparsed = (status: number) => {
    count({ operation: 'other', status, seconds: null })
    log.debug({ status }, 'could not read a request')
  }
  const ended = ({ about, operation, path, request, response }: RoutedRequest, startedAt: number): void => {
    const isAnswered = response.headersSent
    const status = isAnswered ? response.statusCode : clientLeft
    const ms = performance.now() - startedAt
    count({ operation, status, seconds: about.isLong ? null : ms / 1000 })
    if (about.span) tracing?.requestEnded({ about, isAnswered, operation, status })
    if (!isLogged) return
    const { requestId, sessionId, taskId, turnId, userId } = about
    const ids = { requestId, userId, taskId, sessionId, turnId, ...traceIdOf(about) }
    const fields = { operation, method: request.method, path: shownPath(path), status, ms: Math.round(ms * 10) / 10 }
    log.debug({ ...ids, ...fields, ...(wasCut(response) && { cut: true }) }, 'request')
  }
  const turnedAway = () => count({ operation: 'other', status: 503, seconds: null })
  return { ended, unparsed, turnedAway }
}

function wasCut({ writableFinished }: ServerResponse): boolean {
  return !writableFinished
}

export function traceIdOf({ span }: RequestTrace): { traceId?: string } {
  return span ? { traceId: span.spanContext().traceId } : {}
}
