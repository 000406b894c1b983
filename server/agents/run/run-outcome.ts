import type { ConnectorSpec } from '../../connectors/connector-spec.ts'
import type { Metering, Usage } from '../../billing/event-charges.ts'
import type { ChatSummary } from './chat-messages.ts'
import { clip } from '../../kernel/clip.ts'
import type { TaskFailure } from '../../store/records.ts'
import { ServiceOutputTooLargeError } from '../http/http-failure.ts'

/**
 * How a run ended. `interrupted` is no fault of the agent's: the run may be repeated, and does not count as a failure. Where
 * its user had it stopped (`isPatient`), a thread that others' runs may keep busy gets a while until it is ended for it.
 */
export type RunOutcome =
  /** `usage` is that of a metered task. */
  | { kind: 'completed'; json: string; usage?: Usage }
  | { kind: 'failed'; error: TaskFailure; owed?: ChatOwed; isPatient?: true }
  | { kind: 'interrupted'; message: string }

/** Why a chat is stopped, as its agent's thread is told. */
export type ChatStop = Extract<RunOutcome, { kind: 'interrupted' }> & {
  /** How long the provider of an open model call is read for its usage. */
  readOnMs: number
}

/**
 * What a chat that failed is charged all the same. `caller` failures are the caller's, and the exchange is kept as far as it came;
 * of `request` failures the request was the cause, and nothing is kept. Of others it is charged only when the caller left.
 */
export type ChatOwed = ChatSummary & { cause: 'caller' | 'request' | 'other' }

/** What an agent is told of the task that it runs; `params` is the submitted JSON text. */
export type TaskRequest = {
  endpointId: string
  taskId: string
  userId: string
  params: string
  /** How long it may run in all. */
  timeoutMs: number
  connectors: readonly ConnectorSpec[]
  /** Of a metered task: what it may charge. */
  metering?: Metering
  /** The W3C's trace context of the run, where the service is traced. */
  traceparent?: string
}

const textCharsMax = 2000
/** A thread writes deeper JSON than the thread that serves could read and write again. */
export const nestingMax = 500
const [quote, backslash, openBrace, closeBrace, openBracket, closeBracket] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d]

/** The error object of a task for whatever an agent threw. Its stack stays here: it speaks of the operator's files. */
export function describeThrown(thrown: unknown): TaskFailure {
  try {
    // As what the agents of this process return is refused.
    if (thrown instanceof ServiceOutputTooLargeError) {
      return { code: 'AGENT_OUTPUT_TOO_LARGE', message: thrown.message, details: '' }
    }
    if (thrown instanceof Error) {
      const cause = thrown.cause instanceof Error ? thrown.cause.message : ''
      return {
        code: 'AGENT_ERROR',
        message: clip(String(thrown.message), textCharsMax) || 'The agent failed without a message.',
        details: clip(cause ? `${thrown.name}, caused by: ${cause}` : String(thrown.name), textCharsMax),
      }
    }
    return {
      code: 'AGENT_ERROR',
      message: clip(`The agent threw ${describeValue(thrown)}`, textCharsMax),
      details: typeof thrown,
    }
  } catch {
    return { code: 'AGENT_ERROR', message: 'The agent threw a value that cannot be described.', details: '' }
  }
}

function describeValue(value: unknown): string {
  return typeof value === 'object' && value !== null ? (JSON.stringify(value) ?? 'an object') : String(value)
}

/** A result as the JSON text of the task's response: an object or a string as it is, anything else under `result`. */
export function encodeResult(value: unknown, bytesMax: number): RunOutcome {
  const isPlain = typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value))
  let json: string | undefined
  if (typeof value === 'function' || typeof value === 'symbol') {
    return failed('AGENT_OUTPUT_INVALID', `The agent returned a ${typeof value}, which JSON leaves out.`, null)
  }
  try {
    json = JSON.stringify(isPlain ? value : { result: value ?? null })
  } catch (error) {
    // The engine cannot build a string of over half a gigabyte.
    if (error instanceof RangeError && /string length/i.test(error.message)) return tooLarge(bytesMax)
    return failed('AGENT_OUTPUT_INVALID', 'The agent returned a value that cannot be written as JSON.', error)
  }
  if (json === undefined) {
    return failed('AGENT_OUTPUT_INVALID', 'The agent returned a value that JSON leaves out, such as a function.', null)
  }
  // A toJSON method may have made anything of the object.
  if (!json.startsWith('{') && !json.startsWith('"')) json = `{"result":${json}}`
  if (Buffer.byteLength(json) > bytesMax) return tooLarge(bytesMax)
  if (nesting(json) > nestingMax) {
    return failed(
      'AGENT_OUTPUT_INVALID',
      `The agent returned a value that is nested deeper than ${nestingMax} levels.`,
      null,
    )
  }
  return { kind: 'completed', json }
}

/** How deep the containers of a JSON text go, brackets inside strings left out. */
export function nesting(json: string): number {
  let depth = 0
  let deepest = 0
  let isInString = false
  for (let at = 0; at < json.length; at++) {
    const char = json.charCodeAt(at)
    if (isInString) {
      if (char === backslash) at++
      else if (char === quote) isInString = false
    } else if (char === quote) isInString = true
    else if (char === openBrace || char === openBracket) deepest = Math.max(deepest, ++depth)
    else if (char === closeBrace || char === closeBracket) depth--
  }
  return deepest
}

function tooLarge(bytesMax: number): RunOutcome {
  return failed('AGENT_OUTPUT_TOO_LARGE', `The agent returned more than the allowed ${bytesMax} bytes of JSON.`, null)
}

function failed(code: string, message: string, thrown: unknown): RunOutcome {
  return { kind: 'failed', error: { code, message, details: thrown === null ? '' : describeThrown(thrown).message } }
}

/** As instanceof, of what an agent threw: a proxy among it may throw when it is looked at. */
export function isInstance<Instance>(
  thrown: unknown,
  type: abstract new (...args: never[]) => Instance,
): thrown is Instance {
  try {
    return thrown instanceof type
  } catch {
    return false
  }
}
