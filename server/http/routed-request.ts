import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from '../procedures/context.ts'
import type { RequestTrace } from '../kernel/tracing/request-trace.ts'
import type { HeaderList } from './respond.ts'

export type RoutedRequest = {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: string
  params: Record<string, string>
  /** Headers of every response, such as the request id and the CORS headers. */
  headers: HeaderList
  operation: string
  about: RequestTrace
  /** Context that is passed to the procedures. Its caller is null until the request is authenticated. */
  context: Context
}
