import { MessageChannel, Worker, type MessagePort } from 'node:worker_threads'
import { siblingModule } from '../../kernel/threads/sibling-module.ts'
import type { ProcessLimits } from '../connector-bounds.ts'
import {
  beatMs,
  type ConnectorThreadData,
  type FromConnectors,
  type FromConnectorThread,
  type ToConnectors,
  type ToConnectorThread,
} from './connector-protocol.ts'
import type { ProbeOutcome, ProbeRequest, RenewToken } from '../connector-spec.ts'

type Options = {
  limits: ProcessLimits
  env: NodeJS.ProcessEnv
  renew: RenewToken
  onWarning: (message: string) => void
}

const memoryMb = 512
/**
 * The thread counts as blocked after this many consecutive checks without a heartbeat (ten seconds). Counts checks
 * instead of time, because the host may be delayed and the machine may sleep.
 */
const pollsMax = 50
const startLooksMax = 300

/**
 * Host side of the connector thread. The thread starts when a connector is first used, and is replaced if it ends or
 * blocks.
 */
export class ConnectorHost {
  readonly #options: Options
  #worker: Worker | undefined
  #isClosed = false

  constructor(options: Options) {
    this.#options = options
  }

  /**
   * Returns a port to the thread. The port closes when the thread ends. When the caller closes its end, the thread ends
   * that port's runs.
   */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    if (this.#isClosed) port1.close()
    else {
      this.#worker ??= this.#start()
      this.#worker.postMessage({ type: 'port', port: port1 } satisfies ToConnectorThread, [port1])
    }
    return port2
  }

  /** Never rejects. If the signal aborts, resolves with its abort reason, which must be a ProbeOutcome. */
  probe(request: ProbeRequest, signal: AbortSignal): Promise<ProbeOutcome> {
    return new Promise((resolve) => {
      const port = this.connect()
      const end = (outcome: ProbeOutcome) => {
        signal.removeEventListener('abort', onAbort)
        port.close()
        resolve(outcome)
      }
      const onAbort = () => end(signal.reason as ProbeOutcome)
      signal.addEventListener('abort', onAbort, { once: true })
      port.on('message', (message: FromConnectors) => {
        if (message.type === 'probed') end(message.outcome)
      })
      port.on('close', () => end({ kind: 'interrupted', message: 'The service stopped during the check. Try again.' }))
      port.postMessage({ type: 'probe', request } satisfies ToConnectors)
      if (signal.aborted) onAbort()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.terminate()
  }

  #start(): Worker {
    const { env, limits, onWarning, renew } = this.#options
    const pulse = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    const worker = new Worker(siblingModule(import.meta.url, 'connector-thread'), {
      workerData: { limits, pulse } satisfies ConnectorThreadData,
      env,
      name: 'connectors',
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      stdout: true,
      stderr: true,
    })
    // Discard the output, because a library may print data that a user's server has sent.
    for (const stream of [worker.stdout, worker.stderr]) stream.resume()
    worker.on('message', (message: FromConnectorThread) => {
      if (message.type === 'uncaught') {
        return onWarning(`uncaught error in the connector thread: ${message.name}`)
      }
      const { of, request } = message
      void renew(of).then((result) =>
        worker.postMessage({ type: 'renewed', request, result } satisfies ToConnectorThread),
      )
    })
    let reason = 'it exited'
    worker.on('error', (error) => (reason = error.name))
    const watch = watchPulse(pulse, () => {
      reason = 'it did not respond'
      // Later callers get a new thread.
      this.#worker = undefined
      void worker.terminate()
    })
    worker.on('exit', () => {
      clearInterval(watch)
      if (this.#worker === worker) this.#worker = undefined
      if (!this.#isClosed) onWarning(`the connector thread ended and is being replaced: ${reason}`)
    })
    return worker
  }
}

function watchPulse(pulse: SharedArrayBuffer, onBlocked: () => void): NodeJS.Timeout {
  const beats = new Int32Array(pulse)
  let seen = 0
  let looks = 0
  const watch = setInterval(() => {
    const now = Atomics.load(beats, 0)
    looks = now === seen ? looks + 1 : 0
    seen = now
    if (looks < (seen === 0 ? startLooksMax : pollsMax)) return
    clearInterval(watch)
    onBlocked()
  }, beatMs)
  return watch.unref()
}
