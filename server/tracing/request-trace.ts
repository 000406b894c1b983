import type { Span } from '@opentelemetry/api'

/** What the log and the traces say of a request: ids that turn up while it is answered, and nothing that a user wrote. */
export class RequestTrace {
  readonly requestId: string
  /** Undefined when nobody traces. */
  readonly span: Span | undefined
  /** The path that it fits, with its parameters as `{name}`. */
  route: string | undefined = undefined
  userId: string | undefined = undefined
  taskId: string | undefined = undefined
  sessionId: string | undefined = undefined
  turnId: string | undefined = undefined
  /** Whether its answer takes as long as something else does: a stream, or an answer that is held on purpose. */
  isLong = false

  constructor(requestId: string, span: Span | undefined) {
    this.requestId = requestId
    this.span = span
  }
}
