import type { TaskRun } from '../config/define-config.ts'
import { messageOf } from '../../kernel/thrown.ts'
import { nestingMax } from './run-outcome.ts'
import { nesting } from '../../kernel/json-text.ts'

export const progressBytesMax = 4096
const paceMs = 100
const toldCallsMax = 10
const toldNameCharsMax = 60

const fields = new Set(['fraction', 'message', 'data'])

/** Encodes an agent's progress as JSON. Throws a TypeError that says what is invalid. */
export function encodeProgress(given: unknown): string {
  if (typeof given !== 'object' || given === null)
    throw wrong('the argument must be an object, such as { fraction: 0.5 }')
  const unknown = Object.keys(given).find((name) => !fields.has(name))
  if (unknown !== undefined) throw wrong(`unknown field ${unknown.slice(0, 100)}. Use only fraction, message and data`)
  const { data, fraction, message } = given as Record<string, unknown>
  if (fraction !== undefined && !(typeof fraction === 'number' && fraction >= 0 && fraction <= 1)) {
    throw wrong('fraction must be a number from 0 to 1')
  }
  if (message !== undefined && typeof message !== 'string') throw wrong('message must be a string')
  const parts: string[] = []
  if (fraction !== undefined) parts.push(`"fraction":${fraction}`)
  if (message !== undefined) parts.push(`"message":${JSON.stringify(message)}`)
  if (data !== undefined) parts.push(`"data":${toJson(data)}`)
  const json = `{${parts.join(',')}}`
  if (Buffer.byteLength(json) > progressBytesMax) {
    throw wrong(`the argument must be at most ${progressBytesMax} bytes of JSON. Return large results in the response`)
  }
  if (nesting(json) > nestingMax) throw wrong(`data must have at most ${nestingMax} levels of nesting`)
  return json
}

function toJson(data: unknown): string {
  let json: string | undefined
  try {
    json = JSON.stringify(data)
  } catch (error) {
    throw wrong(`data must be valid JSON: ${messageOf(error)}`)
  }
  if (json === undefined) throw wrong(`data must be JSON, not a ${typeof data}`)
  return json
}

function wrong(what: string): TypeError {
  return new TypeError(`progress: ${what}`)
}

/**
 * Reports a run's latest progress at most about ten times a second, and the final value at the end. Checks the time on
 * each call instead of using a timer, because timers do not fire while an agent blocks its thread.
 */
export class PacedProgress {
  readonly #tell: (json: string) => void
  #waiting: string | undefined
  #told: string | undefined
  #toldAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  constructor(tell: (json: string) => void) {
    this.#tell = tell
  }

  note(json: string): void {
    this.#waiting = json
    const leftMs = this.#toldAt + paceMs - performance.now()
    if (leftMs <= 0) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), leftMs)
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const json = this.#waiting
    this.#waiting = undefined
    if (json === undefined || json === this.#told) return
    this.#told = json
    this.#toldAt = performance.now()
    this.#tell(json)
  }
}

/** Reports the model calls of a task, and the tools that each one requests, as the task's progress. */
export class StepProgress {
  readonly #progress: TaskRun['progress']
  readonly #stepsMax: number | undefined
  #step = 0
  #toolCalls: string[] = []

  constructor(progress: TaskRun['progress'], stepsMax?: number) {
    this.#progress = progress
    this.#stepsMax = stepsMax
  }

  begin(): void {
    this.#step++
    this.#toolCalls = []
    this.#tell()
  }

  callTool(name: string): void {
    if (this.#toolCalls.length === toldCallsMax) return
    this.#toolCalls.push(name.slice(0, toldNameCharsMax))
    this.#tell()
  }

  #tell(): void {
    const [step, stepsMax, toolCalls] = [this.#step, this.#stepsMax, [...this.#toolCalls]]
    const most = stepsMax === undefined ? '' : ` of at most ${stepsMax}`
    const called = toolCalls.length > 0 ? `: ${toolCalls.join(', ')}` : ''
    this.#progress({
      message: `Step ${step}${most}${called}`,
      data: { step, ...(stepsMax !== undefined && { stepsMax }), toolCalls },
    })
  }
}
