import { ConnectorError } from '../../connectors/connector-spec.ts'
import { callThrough, noSuchTool, toolError, type RunConnectors } from '../../connectors/thread/run-connectors.ts'
import { isInstance } from './run-outcome.ts'

type TaskConnectors = {
  forbidCancel: () => Promise<void>
  waiting: WaitingTime
  signal: AbortSignal
}

/**
 * Wraps the connectors of a task. Each call waits until the task can no longer be canceled. If a server does not
 * respond, the agent gets a tool error and the run continues. If the run failed instead, it would be refunded, although
 * the server's owner may already have the task's result from the call's arguments.
 */
export function taskConnectors(
  connectors: RunConnectors,
  { forbidCancel, signal, waiting }: TaskConnectors,
): RunConnectors {
  if (connectors.tools.length === 0) return connectors
  const names = new Set(connectors.tools.map(({ name }) => name))
  const lost = new AbortController()
  const onFailed = () => {
    const { reason } = connectors.failed
    if (!isInstance(reason, ConnectorError)) lost.abort(reason)
  }
  connectors.failed.addEventListener('abort', onFailed, { once: true })
  const call: RunConnectors['call'] = async (name, args) => {
    if (!names.has(name)) throw noSuchTool(name)
    await forbidCancel()
    try {
      return await waiting.bound(() => connectors.call(name, args))
    } catch (thrown) {
      if (signal.aborted || !isInstance(thrown, ConnectorError)) throw thrown
      return toolError(thrown.message)
    }
  }
  return { ...callThrough(connectors, call), failed: lost.signal }
}

export class WaitingTime {
  readonly #maxMs: number
  readonly #onWaiting: (isWaiting: boolean) => void
  #pending = 0
  #since = 0
  #usedMs = 0

  constructor({ maxMs, onWaiting }: { maxMs: number; onWaiting: (isWaiting: boolean) => void }) {
    this.#maxMs = maxMs
    this.#onWaiting = onWaiting
  }

  async measure<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#begin()
    try {
      return await work()
    } finally {
      this.#end()
    }
  }

  /** Like `measure`, but rejects with a ConnectorError when the run's total time for connectors is used up. */
  async bound<Value>(work: () => Promise<Value>): Promise<Value> {
    const leftMs = this.#leftMs
    if (leftMs <= 0) throw this.#timeUp
    const late = Promise.withResolvers<never>()
    const timer = setTimeout(() => late.reject(this.#timeUp), leftMs)
    try {
      return await this.measure(() => Promise.race([work(), late.promise]))
    } finally {
      clearTimeout(timer)
    }
  }

  get #leftMs(): number {
    const sinceMs = this.#pending > 0 ? performance.now() - this.#since : 0
    return this.#maxMs - this.#usedMs - sinceMs
  }

  get #timeUp(): ConnectorError {
    return new ConnectorError(
      `The connectors in this run took ${this.#maxMs / 1000} seconds in total, the maximum. Run a task with fewer tool calls.`,
    )
  }

  #begin(): void {
    if (++this.#pending > 1) return
    this.#since = performance.now()
    this.#onWaiting(true)
  }

  #end(): void {
    if (--this.#pending > 0) return
    this.#usedMs += performance.now() - this.#since
    this.#onWaiting(false)
  }
}
