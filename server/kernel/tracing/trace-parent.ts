import {
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  trace,
  type Context,
  type Span,
  type SpanContext,
} from '@opentelemetry/api'
import type { IncomingHttpHeaders } from 'node:http'

// Reads and writes W3C trace context without the OpenTelemetry API, which would require an SDK.

const versionPattern = /^(?!ff)[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:$|-)/

/** Returns the caller's span as the parent of ours, or the root context if the header is missing or malformed. */
export function remoteContext({ traceparent, tracestate }: IncomingHttpHeaders): Context {
  const match = typeof traceparent === 'string' ? versionPattern.exec(traceparent) : null
  if (!match) return ROOT_CONTEXT
  const [, traceId = '', spanId = '', flags = ''] = match
  const context: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true }
  if (!isSpanContextValid(context)) return ROOT_CONTEXT
  if (typeof tracestate === 'string') context.traceState = createTraceState(tracestate)
  return trace.setSpanContext(ROOT_CONTEXT, context)
}

export function traceParentOf(span: Span): string {
  const { spanId, traceFlags, traceId } = span.spanContext()
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString(16).padStart(2, '0')}`
}
