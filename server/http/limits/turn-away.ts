import type { IncomingMessage, ServerResponse } from 'node:http'
import { errorBody, type ErrorCode } from '../../kernel/errors.ts'
import type { AnswerForm } from '../answer-forms.ts'
import type { RequestEnds } from '../request-ends.ts'
import { overloaded } from './request-gate.ts'
import { RestedSockets } from './rested-sockets.ts'
import { errorHeaders, respond, type HeaderList } from '../respond.ts'

type TurnAwayParts = {
  ends: RequestEnds
  onRefused: (code: ErrorCode) => void
}

/**
 * Responds with 503 as cheaply as possible, because rejections take time from other requests. If a rejection cost half
 * as much as a request, rejections would take all of the time at twice the maximum load.
 */
export function createTurnAway({ ends, onRefused }: TurnAwayParts) {
  const error = overloaded()
  const restJson = JSON.stringify(errorBody(error))
  const texts = new Map<AnswerForm | undefined, string>()
  const own = errorHeaders(error)
  const rested = new RestedSockets()
  return (
    request: IncomingMessage,
    response: ServerResponse,
    { form, headers }: { form: AnswerForm | undefined; headers: HeaderList },
  ): void => {
    const { socket } = request
    onRefused(error.code)
    ends.turnedAway()
    let text = texts.get(form)
    if (text === undefined) texts.set(form, (text = form?.errorText?.(error) ?? restJson))
    respond(response, { status: error.status, text, headers: [...headers, ...own] })
    // Pause the socket only after the request has closed. Before that, Node would resume it.
    request.once('close', () => rested.rest(socket))
  }
}
