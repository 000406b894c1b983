import type { IncomingMessage } from 'node:http'
import { rateHeaders } from '../../billing/rate-headers.ts'
import type { ChatStream } from '../../chat/chat-stream.ts'
import { refusalLine } from '../../chat/event-lines.ts'
import { eventsType, rateOf, restForm, silentMs, sseIdle, type AnswerForm } from '../../http/answer-forms.ts'
import { withHeaders } from '../../http/respond.ts'
import { linesType, writeLines } from '../../http/write-lines.ts'
import type { ErrorCode } from '../../kernel/errors.ts'
import type { TaskEvent } from '../../tasks/task-schema.ts'
import type { TaskStream } from '../../tasks/task-stream.ts'

const streamed = new Set<ErrorCode>([
  'NOT_FOUND',
  'CONNECTOR_NOT_FOUND',
  'CONNECTOR_FAILED',
  'SESSION_EXPIRED',
  'SESSION_BUSY',
  'SESSION_COMPLETED',
  'RATE_LIMIT_EXCEEDED',
  'INSUFFICIENT_BALANCE',
  'BUDGET_REACHED',
  'LIMIT_REACHED',
  'ACCOUNT_BLOCKED',
])

function wantsSse({ headers: { accept = '' } }: IncomingMessage): boolean {
  return accept.includes(eventsType) && !accept.includes('ndjson')
}

/** Chat events as JSON lines or server-sent events. An error before the stream starts keeps its HTTP status. */
export const linesForm: AnswerForm = {
  isStream: true,
  async answer({ context, headers, request, response }, result) {
    const stream = result as ChatStream | null
    const rate = await rateOf(context)
    if (rate) headers.push(...rateHeaders(rate))
    if (!stream) return void response.writeHead(204, withHeaders(headers, {})).end()
    headers.push('Errand-Turn-Id', stream.turnId)
    const { stallMs } = context.stream!
    const next = () => stream.nextLines()
    if (!wantsSse(request)) return await writeLines(response, { headers, next, stallMs })
    await writeLines(response, { headers, next, inForm: toSse, stallMs, ...sseIdle })
  },
  error(error, routed) {
    if (!streamed.has(error.code) || routed.operation !== 'chat' || wantsPlain(routed.request))
      return restForm.error(error, routed)
    return { type: linesType, text: refusalLine(error, routed.context.shared.clock.now()) }
  },
}

const beforeType = '{"type":"'.length
const seqField = ',"seq":'
const deltaType = 'assistant_delta'

/**
 * Converts the service's JSON lines to server-sent events. Lines are numbered consecutively, and start with `type`,
 * `timestamp` and `seq`.
 */
function toSse(lines: string): string {
  const seqAt = lines.indexOf(seqField) + seqField.length
  let seq = Number.parseInt(lines.slice(seqAt, seqAt + 16), 10)
  let events = ''
  for (let start = 0, end = lines.indexOf('\n'); end !== -1; start = end + 1, end = lines.indexOf('\n', start)) {
    const typeAt = start + beforeType
    // Most events are deltas, and comparing is faster than slicing.
    const type = lines.startsWith(deltaType, typeAt) ? deltaType : lines.slice(typeAt, lines.indexOf('"', typeAt))
    events += `id: ${seq++}\nevent: ${type}\ndata: ${lines.slice(start, end)}\n\n`
  }
  return events
}

const writtenEvents = new WeakMap<TaskEvent, string>()

/** Serializes each progress object only once, because all followers of a task share it. */
function writeEvent(event: TaskEvent): string {
  const written = writtenEvents.get(event) ?? JSON.stringify(event)
  writtenEvents.set(event, written)
  return written
}

export const eventsForm: AnswerForm = {
  isStream: true,
  async answer({ context, headers, request, response }, result) {
    const stream = result as TaskStream
    const rate = await rateOf(context)
    if (rate) headers.push(...rateHeaders(rate))
    const isSse = wantsSse(request)
    const write = isSse
      ? (event: TaskEvent) => `event: ${event.type}\ndata: ${writeEvent(event)}\n\n`
      : (event: TaskEvent) => `${writeEvent(event)}\n`
    const next = async () => (await stream.next())?.map(write).join('')
    const { stallMs } = context.stream!
    // Detect clients that disappear without closing their connection, because each open stream occupies a slot.
    response.socket?.setKeepAlive(true, silentMs)
    try {
      await writeLines(response, { headers, next, stallMs, ...(isSse && sseIdle) })
    } finally {
      stream.end()
    }
  },
  error: restForm.error,
}

/** Whether the Accept header requests the error format that all other operations use. */
function wantsPlain({ headers: { accept = '' } }: IncomingMessage): boolean {
  return (accept.includes('application/json') || accept.includes(eventsType)) && !accept.includes('ndjson')
}
