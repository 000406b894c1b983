import type { IncomingMessage, ServerResponse } from 'node:http'
import { ErrandError, errorBody, type ErrorCode } from '../../kernel/errors.ts'
import type { RequestEnds } from '../request-ends.ts'
import { overloaded } from './request-gate.ts'
import { RestedSockets } from './rested-sockets.ts'
import { errorHeaders, respond, type HeaderList } from '../respond.ts'

type TurnAwayParts = {
  rpcErrorJson: (error: ErrandError) => string
  ends: RequestEnds
  onRefused: (code: ErrorCode) => void
}

/**
 * Answers 503 at the least cost. What a refusal takes, nobody is served in: at twice the load that the service can bear,
 * refusals that cost half as much as requests would leave no time for any.
 */
export function createTurnAway({ ends, onRefused, rpcErrorJson }: TurnAwayParts) {
  const error = overloaded()
  const restJson = JSON.stringify(errorBody(error))
  const rpcJson = rpcErrorJson(error)
  const own = errorHeaders(error)
  const rested = new RestedSockets()
  return (
    request: IncomingMessage,
    response: ServerResponse,
    { headers, isRpc }: { headers: HeaderList; isRpc: boolean },
  ): void => {
    const { socket } = request
    onRefused(error.code)
    ends.turnedAway()
    respond(response, { status: error.status, text: isRpc ? rpcJson : restJson, headers: [...headers, ...own] })
    // Before its end Node would resume the socket by itself.
    request.once('close', () => rested.rest(socket))
  }
}
