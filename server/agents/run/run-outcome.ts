import type { TaskFailure } from '../../store/tasks/task-types.ts'
import type { ConnectorSpec } from '../../connectors/connector-spec.ts'
import type { Metering, Usage } from '../../billing/event-charges.ts'
import type { ChatSummary } from './chat-messages.ts'
import type { TokenTerms, TokenUse } from './task-tokens.ts'
import { clip } from '../../kernel/clip.ts'
import { nesting } from '../../kernel/json-text.ts'
import { ServiceOutputTooLargeError } from '../http/http-failure.ts'

/**
 * How a run ended. `interrupted` is not the agent's fault: the run may be retried and does not count as a failure.
 * `isPatient`: the user stopped the run, by a cancel or the task's own time limit. Its thread may be busy with other
 * users' runs, so the thread gets extra time before it is terminated.
 */
export type RunOutcome =
  /** `usage` is set if the task is metered, `tokens` if its tokens are counted. */
  | { kind: 'completed'; json: string; usage?: Usage; tokens?: TokenUse }
  | { kind: 'failed'; error: TaskFailure; owed?: ChatOwed; tokens?: TokenUse; isPatient?: true }
  | { kind: 'interrupted'; message: string }

/** Abort reason of a stopped chat. */
export type ChatStop = Extract<RunOutcome, { kind: 'interrupted' }> & {
  /** How long to keep reading an open model call, so that its provider can still report the usage. */
  readOnMs: number
}

/**
 * Charge of a failed chat. `caller`: the caller caused the failure, and the exchange so far is stored. `request`: the
 * request caused it, and nothing is stored. `other`: charged only if the client disconnected.
 */
export type ChatOwed = ChatSummary & { cause: 'caller' | 'request' | 'other' }

/** A task as it is sent to an agent. `params` is the submitted JSON string. */
export type TaskRequest = {
  endpointId: string
  taskId: string
  userId: string
  params: string
  /** Total time limit of the run. */
  timeoutMs: number
  connectors: readonly ConnectorSpec[]
  /** Prices and maximum of a metered task. */
  metering?: Metering
  /** Set if the task's tokens must be counted. */
  tokens?: TokenTerms
  /** W3C trace context of the run, if tracing is on. */
  traceparent?: string
}

const textCharsMax = 2000
/**
 * Maximum nesting depth of JSON from agents. An agent thread could write deeper JSON than the serving thread can parse.
 */
export const nestingMax = 500

/** Converts any thrown value to a task's error object. Omits the stack, because it reveals the operator's files. */
export function describeThrown(thrown: unknown): TaskFailure {
  try {
    // Same code as for oversized results of agents in this process.
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
    return {
      code: 'AGENT_ERROR',
      message: 'The agent threw a value that cannot be converted to a string.',
      details: '',
    }
  }
}

function describeValue(value: unknown): string {
  return typeof value === 'object' && value !== null ? (JSON.stringify(value) ?? 'an object') : String(value)
}

/**
 * Encodes a result as the JSON of the task's response: objects and strings unchanged, anything else as `{ result }`.
 */
export function encodeResult(value: unknown, bytesMax: number): RunOutcome {
  const isPlain = typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value))
  let json: string | undefined
  if (typeof value === 'function' || typeof value === 'symbol') {
    return failed('AGENT_OUTPUT_INVALID', `The agent returned a ${typeof value}, which JSON cannot represent.`, null)
  }
  try {
    json = JSON.stringify(isPlain ? value : { result: value ?? null })
  } catch (error) {
    // V8 cannot build a string of over half a gigabyte.
    if (error instanceof RangeError && /string length/i.test(error.message)) return tooLarge(bytesMax)
    return failed('AGENT_OUTPUT_INVALID', 'The agent returned a value that cannot be serialized as JSON.', error)
  }
  if (json === undefined) {
    return failed(
      'AGENT_OUTPUT_INVALID',
      'The agent returned a value that JSON cannot represent, such as a function.',
      null,
    )
  }
  // A toJSON method may have turned the object into any JSON value.
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

function tooLarge(bytesMax: number): RunOutcome {
  return failed('AGENT_OUTPUT_TOO_LARGE', `The agent returned more than the allowed ${bytesMax} bytes of JSON.`, null)
}

function failed(code: string, message: string, thrown: unknown): RunOutcome {
  return { kind: 'failed', error: { code, message, details: thrown === null ? '' : describeThrown(thrown).message } }
}

/** Like instanceof, but safe for values that agents throw: a proxy may throw when inspected. */
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
