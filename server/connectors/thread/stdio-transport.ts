import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { JSONRPCMessage, MCPTransport, validateJSONRPCMessage } from '@ai-sdk/mcp'
import { must } from '../../kernel/assert.ts'
import { heavinessOf } from '../../kernel/json-values.ts'
import { LineSplitter } from '../../kernel/line-splitter.ts'
import { codeOf } from '../../kernel/thrown.ts'
import { valuesMax } from './answer-meter.ts'
import { AnswerPlace, type AnswerRoom } from './answer-place.ts'
import { ConnectorError, type StdioTarget } from '../connector-spec.ts'
import { guardedSpawn, guardPipe, hasGroups } from './guarded-spawn.ts'

export type StdioOptions = {
  lineBytesMax: number
  answers?: AnswerRoom
  /** How long the server may take to exit on its own, and again after SIGTERM. */
  graceMs?: number
  /** Called with the server's pid, which is also its process group id: on spawn, and when the whole group has ended. */
  onSpawn?: (pid: number) => void
  onGone?: (pid: number) => void
}

/** Max lines that are not messages: many servers print a banner on standard output. */
const strayLinesMax = 20
const stderrBytesMax = 2048
/** Grace after EPIPE for the exit that explains it, and after an exit for the output before it. */
const settleMs = 100

const closed = "The connection to the connector's server is closed."
const tooLong = "The connector's server sent a message that is larger than allowed."
const garbled = "The connector's server prints something other than MCP messages."
const inputClosed = "The connector's server closed its input."
const outputClosed = "The connector's server closed its output."

/**
 * Runs an MCP server and exchanges JSON-RPC messages with it, one per line. It starts once and ends once: on its first
 * failure, which also ends the server, or on `close`. After that nothing is sent or received, and waiting calls fail.
 *
 * The library's own transport passes on parts of our environment and re-joins its whole, unlimited buffer for each
 * chunk. It leaves calls waiting when the server stops reading, and throws errors that cannot be caught. It kills the
 * server, but not the processes that the server has started.
 */
export class StdioTransport implements MCPTransport {
  /** The client's `protocolVersionDiscovery` decides whether to ask for newer protocols. */
  readonly supportsProtocolVersionDiscovery = true
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #target: StdioTarget
  readonly #options: StdioOptions
  readonly #lines: LineSplitter
  /** Functions that settle messages still being written. */
  readonly #sends = new Set<(error?: ConnectorError) => void>()
  readonly #answer: AnswerPlace | undefined
  readonly #exited = Promise.withResolvers<void>()
  #validate: typeof validateJSONRPCMessage | undefined
  #child: ChildProcessWithoutNullStreams | undefined
  #isOver = false
  #failure: ConnectorError | undefined
  #closing: Promise<void> | undefined
  #exit: string | undefined
  #strayLines = 0
  #stderr = Buffer.alloc(0)

  constructor(target: StdioTarget, options: StdioOptions) {
    this.#target = target
    this.#options = options
    this.#lines = new LineSplitter(options.lineBytesMax)
    const { answers } = options
    this.#answer = answers && new AnswerPlace(answers, ({ message }) => this.#fail(message))
  }

  /** Why the server is no longer usable; the client sees only a closed connection. */
  get failure(): ConnectorError | undefined {
    return this.#failure
  }

  /** Last 2 KB of standard error, for debugging only: may contain secrets. */
  get stderrTail(): string {
    return this.#stderr.toString()
  }

  /** Rejects with a ConnectorError if the server cannot be started. */
  async start(): Promise<void> {
    // The library takes 50 ms to load, so only runs with connectors load it.
    const { validateJSONRPCMessage } = await import('@ai-sdk/mcp')
    this.#validate = validateJSONRPCMessage
    if (this.#isOver || this.#child) throw new ConnectorError(closed)
    await new Promise<void>((resolve, reject) => {
      const refuse = (error: unknown) => {
        this.#fail(describeSpawn(error, this.#cwd))
        reject(this.#failure ?? new ConnectorError(closed))
      }
      try {
        const child = (this.#child = guardedSpawn(this.#target, this.#cwd))
        child.once('spawn', resolve)
        // Stays attached, because signals that cannot be sent are reported here too.
        child.on('error', (error) => (child.pid === undefined ? refuse(error) : this.onerror?.(error)))
        if (child.pid !== undefined) this.#attend(child, child.pid)
      } catch (error) {
        refuse(error)
      }
    })
  }

  /**
   * Resolves when the message is flushed, which gives back-pressure if the server does not read. Rejects with a
   * ConnectorError if it can no longer be sent. Ignores a call's signal, because half a message could not be taken
   * back.
   */
  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isOver || !this.#child) return reject(this.#failure ?? new ConnectorError(closed))
      const settle = (error?: ConnectorError) => {
        this.#sends.delete(settle)
        if (error) reject(error)
        else resolve()
      }
      this.#sends.add(settle)
      // After an error the message waits for the failure that is about to be reported.
      this.#child.stdin.write(`${JSON.stringify(message)}\n`, (error) => {
        if (!error) settle()
      })
    })
  }

  /**
   * Resolves when the server has exited and the rest of its group is killed; never rejects. The server may exit on its
   * own when its input ends. Otherwise it gets SIGTERM, then SIGKILL.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#finish(new ConnectorError(closed))
    const child = this.#child
    if (child?.pid === undefined) return
    child.stdin.end()
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#exitsWithin(this.#options.graceMs ?? 500)) break
      this.#signal(signal)
    }
    await this.#exited.promise
    // A process that has left the group may hold these pipes open, which would keep our process alive.
    for (const pipe of [child.stdin, child.stdout, child.stderr, guardPipe(child)]) pipe?.destroy()
  }

  get #cwd(): string {
    return this.#target.cwd ?? tmpdir()
  }

  #attend(child: ChildProcessWithoutNullStreams, pid: number): void {
    child.stdin.on('error', () => this.#failSoon(inputClosed))
    child.stdout.on('error', () => this.#failSoon(outputClosed))
    child.stdout.on('end', () => this.#failSoon(outputClosed))
    child.stdout.on('data', (chunk: Buffer) => this.#receive(chunk))
    child.stderr.on('error', () => {})
    child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk.subarray(-stderrBytesMax)]).subarray(-stderrBytesMax)
    })
    child.once('exit', (code, signal) => {
      this.#signal('SIGKILL')
      const how = code === null ? `was ended by ${signal}` : `exited with code ${code}`
      this.#exit = `The connector's server ${how} before it answered.`
      this.#exited.resolve()
      this.#options.onGone?.(pid)
      this.#failSoon(this.#exit)
    })
    // All of its output has been read by then.
    child.once('close', () => this.#fail(must(this.#exit, 'a process closes after its exit')))
    this.#options.onSpawn?.(pid)
  }

  /**
   * Signals the whole group. This must not hit an unrelated process with a reused pid, which it could once the server
   * has been reaped. Until 'exit' it has not been; Node emits that as it reaps, and a last signal is sent right then.
   * If the group has a member left, its number is not reused (POSIX fork). If it has none, none is found, unless the
   * system cycled through all other numbers within that instant. After 'exit' nothing is signaled, nor need it be:
   * SIGKILL reaches every member, including a process being forked.
   */
  #signal(signal: NodeJS.Signals): void {
    const child = must(this.#child, 'only a process that was started is signalled')
    if (this.#exit !== undefined) return
    try {
      if (hasGroups) process.kill(-must(child.pid, 'a started process has an id'), signal)
      else child.kill(signal)
    } catch {
      // No member is left, or none may be signaled.
    }
  }

  /** The timer keeps nothing alive. A process that has not exited keeps ours running, so the timer still fires. */
  async #exitsWithin(ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<false>()
    const timer = setTimeout(() => resolve(false), ms).unref()
    const hasExited = await Promise.race([promise, this.#exited.promise.then(() => true)])
    clearTimeout(timer)
    return hasExited
  }

  #receive(chunk: Buffer): void {
    if (this.#isOver) return
    for (const line of this.#lines.split(chunk)) {
      if (this.#isOver) return
      if (heavinessOf(line, valuesMax) !== undefined) return this.#fail(tooLong)
      const text = line.toString().trim()
      const message = this.#parse(text)
      if (message) this.#deliver(message)
      else if (text !== '' && ++this.#strayLines > strayLinesMax) this.#fail(garbled)
    }
    if (this.#lines.isTooLong) return this.#fail(tooLong)
    try {
      this.#answer?.hold(this.#lines.begunBytes)
    } catch (error) {
      this.#fail((error as ConnectorError).message)
    }
  }

  #parse(text: string): JSONRPCMessage | undefined {
    try {
      return this.#validate?.(JSON.parse(text))
    } catch {
      return undefined
    }
  }

  /** The client throws on an answer it does not await, such as one to an abandoned call. */
  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }

  /** Fails after a short delay, so the error can include the exit status. */
  #failSoon(message: string): void {
    if (this.#isOver) return
    setTimeout(() => this.#fail(this.#exit ?? message), settleMs).unref()
  }

  #fail(message: string): void {
    if (this.#isOver) return
    this.#failure = new ConnectorError(message)
    this.#finish(this.#failure)
    if (this.#child?.pid !== undefined) {
      this.#child.stdin.destroy()
      this.#child.stdout.destroy()
    }
    void this.close()
  }

  #finish(error: ConnectorError): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#answer?.release()
    for (const settle of this.#sends) settle(error)
    this.onclose?.()
  }
}

/** Worded for users, without the command and folder, which are the operator's. */
function describeSpawn(error: unknown, cwd: string): string {
  const code = codeOf(error)
  const reason = () => {
    if (!existsSync(cwd)) return 'its folder does not exist'
    if (code === 'ENOENT') return 'its command was not found'
    if (code === 'EACCES') return 'its command may not be executed'
    return `the system refused it (${code})`
  }
  return `The connector's server could not be started: ${reason()}.`
}
