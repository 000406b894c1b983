import type { MessagePort } from 'node:worker_threads'
import type { ConnectorTool, ToolAnswer } from '../tool-types.ts'
import type { Failure, FromConnectors, ToConnectors } from './connector-protocol.ts'
import { ConnectorError, ConnectorsUnavailableError, type ConnectorSpec } from '../connector-spec.ts'
import { noSuchTool, type OpenConnectors, type RunConnectors } from './run-connectors.ts'

type Waiting<Value> = { resolve: (value: Value) => void; reject: (error: Error) => void }

const lost = 'The connections to the connectors in this run were lost. Try again.'

/**
 * Provides connectors to an agent thread. The connections themselves are in the connector thread. `ask` requests a port
 * to that thread from the host.
 */
export class RemoteConnectors {
  readonly #ask: () => void
  readonly #runs = new Map<number, RemoteRun>()
  #port: MessagePort | undefined
  #waiting: ((port: MessagePort) => void)[] = []
  #lastRun = 0

  constructor(ask: () => void) {
    this.#ask = ask
  }

  take(port: MessagePort): void {
    this.#port = port
    port.on('message', (message: FromConnectors) => {
      if ('run' in message) this.#runs.get(message.run)?.receive(message)
    })
    port.on('close', () => {
      if (this.#port === port) this.#port = undefined
      for (const run of this.#runs.values()) run.end(new ConnectorsUnavailableError(lost))
    })
    for (const resolve of this.#waiting.splice(0)) resolve(port)
  }

  /** Throws a ConnectorError if a connector is unusable, and closes all others. */
  async connect(
    specs: readonly ConnectorSpec[],
    { reservedNames, signal, waitMs }: OpenConnectors,
  ): Promise<RunConnectors> {
    const port = this.#port ?? (await this.#nextPort())
    if (signal.aborted) throw new ConnectorError('The run was stopped.')
    const number = ++this.#lastRun
    const run = new RemoteRun(number, (message) => port.postMessage(message))
    this.#runs.set(number, run)
    const onAbort = () => port.postMessage({ type: 'abort', run: number } satisfies ToConnectors)
    signal.addEventListener('abort', onAbort, { once: true })
    run.onEnd = () => {
      this.#runs.delete(number)
      signal.removeEventListener('abort', onAbort)
    }
    return await run.open({ specs, reservedNames, waitMs })
  }

  #nextPort(): Promise<MessagePort> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === 1) this.#ask()
    })
  }
}

class RemoteRun implements RunConnectors {
  tools: readonly ConnectorTool[] = []
  onEnd = () => {}
  readonly #number: number
  readonly #send: (message: ToConnectors) => void
  readonly #failure = new AbortController()
  readonly #opened = Promise.withResolvers<void>()
  readonly #calls = new Map<number, Waiting<ToolAnswer>>()
  #names = new Set<string>()
  #lastCall = 0
  #end: Error | undefined

  constructor(number: number, send: (message: ToConnectors) => void) {
    this.#number = number
    this.#send = send
  }

  get failed(): AbortSignal {
    return this.#failure.signal
  }

  async open(of: Pick<Extract<ToConnectors, { type: 'open' }>, 'specs' | 'reservedNames' | 'waitMs'>): Promise<this> {
    this.#send({ type: 'open', run: this.#number, ...of })
    await this.#opened.promise
    return this
  }

  async call(name: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
    if (!this.#names.has(name)) throw noSuchTool(name)
    if (this.#end) throw this.#end
    const json = JSON.stringify(args)
    const call = ++this.#lastCall
    return await new Promise((resolve, reject) => {
      this.#calls.set(call, { resolve, reject })
      this.#send({ type: 'call', run: this.#number, call, name, args: json })
    })
  }

  async close(): Promise<void> {
    if (this.#end) return
    this.#send({ type: 'close', run: this.#number })
    this.end(new ConnectorError('The connectors in this run are closed. Call tools before the run ends.'))
  }

  end(error: Error): void {
    if (this.#end) return
    this.#end = error
    this.#opened.reject(error)
    if (!(error instanceof ConnectorError)) this.#failure.abort(error)
    for (const { reject } of this.#calls.values()) reject(error)
    this.#calls.clear()
    this.onEnd()
  }

  receive(message: Extract<FromConnectors, { run: number }>): void {
    switch (message.type) {
      case 'opened':
        this.tools = message.tools
        this.#names = new Set(message.tools.map(({ name }) => name))
        return this.#opened.resolve()
      case 'refused':
        return this.end(toError(message.failure))
      case 'answered':
        this.#calls.get(message.call)?.resolve(message.answer)
        break
      case 'failed': {
        const error = toError(message.failure)
        this.#failure.abort(error)
        this.#calls.get(message.call)?.reject(error)
      }
    }
    this.#calls.delete(message.call)
  }
}

function toError({ kind, message }: Failure): Error {
  if (kind === 'unavailable') return new ConnectorsUnavailableError(message)
  return kind === 'connector' ? new ConnectorError(message) : new Error(message)
}
