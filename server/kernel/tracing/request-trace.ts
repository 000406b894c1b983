import type { Span } from '@opentelemetry/api'

/** Request data for logs and traces: ids that become known during processing, but no user content. */
export class RequestTrace {
  readonly requestId: string
  readonly span: Span | undefined
  /** Path template of the matched route, with parameters as `{name}`. */
  route: string | undefined = undefined
  userId: string | undefined = undefined
  taskId: string | undefined = undefined
  sessionId: string | undefined = undefined
  turnId: string | undefined = undefined
  /** Whether to exclude the duration from latency metrics, because the request is a stream or a long poll. */
  isLong = false

  constructor(requestId: string, span: Span | undefined) {
    this.requestId = requestId
    this.span = span
  }
}
