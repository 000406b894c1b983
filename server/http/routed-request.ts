import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from '../rpc/context.ts'
import type { RequestTrace } from '../tracing/request-trace.ts'
import type { HeaderList } from './respond.ts'

/** A request on its way to whoever answers it. */
export type RoutedRequest = {
  request: IncomingMessage
  response: ServerResponse
  path: string
  /** Without the question mark. */
  query: string
  /** What stands in the path for the parameters of its route, decoded. */
  params: Record<string, string>
  /** For the answer, whatever it will be: the request's id, and what another origin needs to read it. */
  headers: HeaderList
  /** What the request turned out to ask for, by the name that metrics know it by. */
  operation: string
  about: RequestTrace
  /** For procedures; its caller is null until the request is authenticated. */
  context: Context
}
