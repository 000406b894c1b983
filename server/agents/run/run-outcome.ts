import type { TaskFailure } from '../../store/tasks/task-types.ts'
import type { ConnectorSpec } from '../../connectors/connector-spec.ts'
import type { Metering, Usage } from '../../billing/event-charges.ts'
import type { ChatSummary } from './chat-messages.ts'
import type { TokenTerms, TokenUse } from './task-tokens.ts'
import { clip } from '../../kernel/clip.ts'
import { nesting } from '../../kernel/json-text.ts'
import { ServiceOutputTooLargeError } from '../http/http-failure.ts'
import { OutputMismatchError } from './check-output.ts'

/**
 * How a run ended. `interrupted`: the service stopped the run, which may be retried and does not count as a failure.
 * `isPatient`: the user canceled the run or its own time limit passed. The thread then gets extra time before it is
 * terminated, because it may be busy with other users' runs.
 */
export type RunOutcome =
  /** `usage` is set for metered tasks, and `tokens` for tasks whose tokens are counted. */
  | { kind: 'completed'; json: string; usage?: Usage; tokens?: TokenUse }
  | { kind: 'failed'; error: TaskFailure; owed?: ChatOwed; tokens?: TokenUse; isPatient?: true }
  | { kind: 'interrupted'; message: string }

export type ChatStop = Extract<RunOutcome, { kind: 'interrupted' }> & {
  /** How long to keep reading an open model call, because its provider may still report the usage. */
  readOnMs: number
}

/**
 * The charge for a failed chat, by cause. `caller`: the caller caused the failure. The chat is charged, and the
 * exchange so far is stored. `request`: the content of the request caused it. The chat is charged, and nothing is
 * stored. `other`: the chat is charged only if the client disconnected.
 */
export type ChatOwed = ChatSummary & { cause: 'caller' | 'request' | 'other' }

/** A task as sent to an agent thread. `params` is the submitted JSON string. */
export type TaskRequest = {
  endpointId: string
  taskId: string
  userId: string
  params: string
  timeoutMs: number
  connectors: readonly ConnectorSpec[]
  metering?: Metering
  tokens?: TokenTerms
  traceparent?: string
}

const textCharsMax = 2000
/**
 * Maximum nesting depth of JSON from agents. Agent threads can write JSON that is nested too deeply for the main thread
 * to parse.
 */
export const nestingMax = 500

/** Converts any thrown value to a task's error object. Omits the stack, because it reveals the operator's files. */
export function describeThrown(thrown: unknown): TaskFailure {
  try {
    // Use the same code as for oversized results of code agents.
    if (thrown instanceof ServiceOutputTooLargeError) {
      return { code: 'AGENT_OUTPUT_TOO_LARGE', message: thrown.message, details: '' }
    }
    if (thrown instanceof OutputMismatchError) {
      return { code: 'AGENT_OUTPUT_INVALID', message: clip(thrown.message, textCharsMax), details: '' }
    }
    if (thrown instanceof Error) {
      const cause = thrown.cause instanceof Error ? thrown.cause.message : ''
      return {
        code: 'AGENT_ERROR',
        message:
          clip(String(thrown.message), textCharsMax) ||
          "The agent failed without an error message. Report this to the agent's author.",
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
      message: 'The agent threw a value that cannot be converted to a string. Throw an Error.',
      details: '',
    }
  }
}

function describeValue(value: unknown): string {
  return typeof value === 'object' && value !== null ? (JSON.stringify(value) ?? 'an object') : String(value)
}

/** Encodes a result as JSON. Any value except an object or a string becomes `{ result: value }`. */
export function encodeResult(value: unknown, bytesMax: number): RunOutcome {
  const isPlain = typeof value === 'string' || (typeof value === 'object' && value !== null && !Array.isArray(value))
  let json: string | undefined
  if (typeof value === 'function' || typeof value === 'symbol') {
    return failed(
      'AGENT_OUTPUT_INVALID',
      `The agent returned a ${typeof value}, which JSON cannot represent. Return a JSON value.`,
      null,
    )
  }
  try {
    json = JSON.stringify(isPlain ? value : { result: value ?? null })
  } catch (error) {
    // V8 cannot build a string longer than half a gigabyte.
    if (error instanceof RangeError && /string length/i.test(error.message)) return tooLarge(bytesMax)
    return failed(
      'AGENT_OUTPUT_INVALID',
      'The agent returned a value that cannot be serialized as JSON. Return a JSON value.',
      error,
    )
  }
  if (json === undefined) {
    return failed(
      'AGENT_OUTPUT_INVALID',
      'The agent returned a value that JSON cannot represent, such as a function. Return a JSON value.',
      null,
    )
  }
  // A toJSON method may have turned the object into any JSON value.
  if (!json.startsWith('{') && !json.startsWith('"')) json = `{"result":${json}}`
  if (Buffer.byteLength(json) > bytesMax) return tooLarge(bytesMax)
  if (nesting(json) > nestingMax) {
    return failed(
      'AGENT_OUTPUT_INVALID',
      `The agent returned a value with more than ${nestingMax} levels of nesting. Return a flatter value.`,
      null,
    )
  }
  return { kind: 'completed', json }
}

function tooLarge(bytesMax: number): RunOutcome {
  return failed(
    'AGENT_OUTPUT_TOO_LARGE',
    `The agent returned more than ${bytesMax} bytes of JSON, the maximum. Return a smaller result.`,
    null,
  )
}

function failed(code: string, message: string, thrown: unknown): RunOutcome {
  return { kind: 'failed', error: { code, message, details: thrown === null ? '' : describeThrown(thrown).message } }
}

/** Like instanceof, but returns false if the check throws, for example because an agent threw a proxy. */
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
