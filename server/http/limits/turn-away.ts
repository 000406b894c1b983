import type { IncomingMessage, ServerResponse } from 'node:http'
import { ErrandError, errorBody, type ErrorCode } from '../../kernel/errors.ts'
import type { RequestEnds } from '../request-ends.ts'
import { overloaded } from './request-gate.ts'
import { RestedSockets } from './rested-sockets.ts'
import { errorHeaders, respond, type HeaderList } from '../respond.ts'

type TurnAwayParts = {
  /** Error body for each form; the REST body for a form that is missing. */
  errorJsons: ReadonlyMap<unknown, (error: ErrandError) => string>
  ends: RequestEnds
  onRefused: (code: ErrorCode) => void
}

/**
 * Answers 503 at the lowest cost, because time spent on rejections is lost for serving. At twice the bearable load,
 * rejections at half the cost of a request would leave no time for requests.
 */
export function createTurnAway({ ends, errorJsons, onRefused }: TurnAwayParts) {
  const error = overloaded()
  const restJson = JSON.stringify(errorBody(error))
  const jsons = new Map([...errorJsons].map(([form, toJson]) => [form, toJson(error)]))
  const own = errorHeaders(error)
  const rested = new RestedSockets()
  return (
    request: IncomingMessage,
    response: ServerResponse,
    { form, headers }: { form: unknown; headers: HeaderList },
  ): void => {
    const { socket } = request
    onRefused(error.code)
    ends.turnedAway()
    respond(response, { status: error.status, text: jsons.get(form) ?? restJson, headers: [...headers, ...own] })
    // Before its end Node would resume the socket itself.
    request.once('close', () => rested.rest(socket))
  }
}
