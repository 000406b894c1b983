import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from '../procedures/context.ts'
import type { RequestTrace } from '../kernel/tracing/request-trace.ts'
import type { HeaderList } from './respond.ts'

export type RoutedRequest = {
  request: IncomingMessage
  response: ServerResponse
  path: string
  /** Query string without the question mark. */
  query: string
  /** Decoded path parameters of the route. */
  params: Record<string, string>
  /** Headers of every response, such as the request's id and the CORS headers for pages of other origins. */
  headers: HeaderList
  /** Name of the requested operation in metrics. */
  operation: string
  about: RequestTrace
  /** Context of procedures; its caller is null until the request is authenticated. */
  context: Context
}
