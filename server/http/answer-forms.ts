import type { RateState } from '../store/limits/limit-types.ts'
import { rateHeaders } from '../billing/rate-headers.ts'
import { errorBody, type ErrandError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json-text.ts'
import { oncePerFrozen } from '../procedures/once-per-frozen.ts'
import { rateOwnerOf } from '../procedures/caller.ts'
import type { Context } from '../procedures/context.ts'
import { respond, type HeaderList } from './respond.ts'
import type { RoutedRequest } from './routed-request.ts'

export type AnswerForm = {
  isStream?: true
  /** Returns the body of an error that does not belong to a call. Defaults to the REST error body. */
  errorText?: (error: ErrandError) => string
  answer: (routed: RoutedRequest, result: unknown) => Promise<void>
  /** Returns the response to an error. By default, it has the error's status and headers. */
  error: (
    error: ErrandError,
    routed: RoutedRequest,
  ) => { type?: string; text: string; status?: number; headers?: HeaderList }
}

const jsonOf = oncePerFrozen(writeJson)

export const restForm: AnswerForm = {
  answer: (routed, result) => answerJson(routed, jsonOf(result)),
  error: (error) => ({ text: JSON.stringify(errorBody(error)) }),
}

export const eventsType = 'text/event-stream'
/** Interval between keep-alive lines. Kept short because some proxies close connections after 30 seconds of silence. */
export const silentMs = 15_000

/** Sends comment lines to keep a silent server-sent events connection open. */
export const sseIdle = { type: eventsType, idle: { afterMs: silentMs, text: ':\n\n' } }

export const tableType = 'text/csv'

export async function answerJson(
  { context, headers, response }: RoutedRequest,
  text: string,
  type?: string,
): Promise<void> {
  const rate = await rateOf(context)
  if (rate) headers.push(...rateHeaders(rate))
  for (const cookie of context.setCookies) headers.push('Set-Cookie', cookie)
  respond(response, { status: 200, text, headers, ...(type !== undefined && { type }) })
}

export async function rateOf({ caller, rate, shared }: Context): Promise<RateState | null> {
  return caller && (rate ?? (await shared.store.readRate(rateOwnerOf(caller))))
}
