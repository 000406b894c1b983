import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, MCPTransport, validateJSONRPCMessage } from '@ai-sdk/mcp'
import { heavinessOf } from '../../kernel/json-values.ts'
import { LineSplitter } from '../../kernel/line-splitter.ts'
import { codeOf } from '../../kernel/thrown.ts'
import { valuesMax } from './answer-meter.ts'
import { AnswerPlace, type AnswerRoom } from './answer-place.ts'
import { ConnectorError, type StdioTarget } from '../connector-spec.ts'
import { launch, type Launched } from './launcher.ts'

export type StdioOptions = {
  lineBytesMax: number
  answers?: AnswerRoom
  /** How long the server may take to exit after its input ends, and again after SIGTERM. */
  graceMs?: number
  /**
   * Called with the server's pid, which is also its process group id: `onSpawn` after the start, `onGone` once the
   * entire group has ended.
   */
  onSpawn?: (pid: number) => void
  onGone?: (pid: number) => void
}

/** Maximum number of output lines that are not messages. Many servers print a banner to standard output. */
const strayLinesMax = 20
const stderrBytesMax = 2048
/**
 * Delay before a failure is reported. The exit that explains the failure, or output written before the exit, may arrive
 * later.
 */
const settleMs = 100

const closed = "The connection to the connector's server is closed. Try again."
const garbled =
  "The connector's server wrote something other than MCP messages to its standard output. Make it log to standard error."
const inputClosed = "The connector's server closed its standard input. Check the server's log."
const outputClosed = "The connector's server closed its standard output. Check the server's log."

/**
 * Runs an MCP server and exchanges JSON-RPC messages with it, one per line. It starts once and ends once: on `close`,
 * or on its first failure, which also ends the server. Afterwards nothing is sent or received, and pending calls fail.
 *
 * The library's own transport is unsuitable. It passes parts of this process's environment to the server. It
 * concatenates its entire unlimited buffer again for each chunk. If the server stops reading, its calls stay pending.
 * It throws errors that cannot be caught. It kills the server, but not the processes that the server has started.
 */
export class StdioTransport implements MCPTransport {
  /** The client's `protocolVersionDiscovery` decides whether to ask for newer protocol versions. */
  readonly supportsProtocolVersionDiscovery = true
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #target: StdioTarget
  readonly #options: StdioOptions
  readonly #lines: LineSplitter
  /** Callbacks that settle pending `send` calls. */
  readonly #sends = new Set<(error?: ConnectorError) => void>()
  readonly #answer: AnswerPlace | undefined
  #validate: typeof validateJSONRPCMessage | undefined
  #starting: Promise<void> | undefined
  #server: Launched | undefined
  #closed: Promise<unknown> | undefined
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

  /** Why the server is no longer usable. The client only sees a closed connection. */
  get failure(): ConnectorError | undefined {
    return this.#failure
  }

  /** Last 2 KB of standard error. Only for debugging, because it may contain secrets. */
  get stderrTail(): string {
    return this.#stderr.toString()
  }

  async start(): Promise<void> {
    // Import lazily: the library takes 50 ms to load, and only runs with connectors need it.
    const { validateJSONRPCMessage } = await import('@ai-sdk/mcp')
    this.#validate = validateJSONRPCMessage
    if (this.#isOver || this.#starting) throw new ConnectorError(closed)
    this.#starting = this.#launch()
    await this.#starting
  }

  async #launch(): Promise<void> {
    try {
      this.#attend((this.#server = await launch(this.#target, this.#cwd)))
    } catch (error) {
      this.#fail(describeSpawn(error, this.#cwd))
    }
    if (this.#isOver) throw this.#failure ?? new ConnectorError(closed)
  }

  /**
   * Resolves when the message is flushed, which applies back-pressure if the server does not read. Rejects with a
   * ConnectorError if the message can no longer be sent. Ignores a call's signal, because a half-sent message cannot be
   * taken back.
   */
  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isOver || !this.#server) return reject(this.#failure ?? new ConnectorError(closed))
      const settle = (error?: ConnectorError) => {
        this.#sends.delete(settle)
        if (error) reject(error)
        else resolve()
      }
      this.#sends.add(settle)
      // After a write error, the message waits for the failure that is about to be reported.
      this.#server.stdin.write(`${JSON.stringify(message)}\n`, (error) => {
        if (!error) settle()
      })
    })
  }

  /**
   * Resolves when the server has exited and the rest of its group has been killed. Never rejects. The server can exit
   * voluntarily when its input ends. Otherwise it gets SIGTERM, then SIGKILL.
   */
  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#finish(new ConnectorError(closed))
    await this.#starting?.catch(() => {})
    const server = this.#server
    if (!server) return
    server.stdin.end()
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      if (await this.#exitsWithin(server, this.#options.graceMs ?? 500)) break
      server.signal(signal)
    }
    await server.exited
    // Close the streams, because a process that has left the group may hold them open and keep this process alive.
    for (const stream of [server.stdin, server.stdout, server.stderr]) stream.destroy()
    await this.#closed
  }

  get #cwd(): string {
    return this.#target.cwd ?? tmpdir()
  }

  #attend({ exited, pid, stderr, stdin, stdout }: Launched): void {
    stdin.on('error', () => this.#failSoon(inputClosed))
    stdout.on('error', () => this.#failSoon(outputClosed))
    stdout.on('end', () => this.#failSoon(outputClosed))
    stdout.on('data', (chunk: Buffer) => this.#receive(chunk))
    stderr.on('error', () => {})
    stderr.on('data', (chunk: Buffer) => {
      this.#stderr = Buffer.concat([this.#stderr, chunk.subarray(-stderrBytesMax)]).subarray(-stderrBytesMax)
    })
    const areRead = Promise.all([closing(stdout), closing(stderr)])
    this.#closed = Promise.all([closing(stdin), areRead])
    void exited.then(async ({ code, signal }) => {
      const how = code === null ? `was ended by ${signal}` : `exited with code ${code}`
      this.#exit = `The connector's server ${how} before it responded. Check the server's log.`
      this.#options.onGone?.(pid)
      this.#failSoon(this.#exit)
      await areRead
      this.#fail(this.#exit)
    })
    this.#options.onSpawn?.(pid)
  }

  /** The unref'd timer still fires, because a server that has not exited keeps this process running. */
  async #exitsWithin({ exited }: Launched, ms: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<false>()
    const timer = setTimeout(() => resolve(false), ms).unref()
    const hasExited = await Promise.race([promise, exited.then(() => true)])
    clearTimeout(timer)
    return hasExited
  }

  #receive(chunk: Buffer): void {
    if (this.#isOver) return
    for (const line of this.#lines.split(chunk)) {
      if (this.#isOver) return
      const heaviness = heavinessOf(line, valuesMax)
      if (heaviness !== undefined)
        return this.#fail(`The connector's server sent a message with ${heaviness}. Request a smaller response.`)
      const text = line.toString().trim()
      const message = this.#parse(text)
      if (message) this.#deliver(message)
      else if (text !== '' && ++this.#strayLines > strayLinesMax) this.#fail(garbled)
    }
    if (this.#lines.isTooLong) {
      const { lineBytesMax } = this.#options
      return this.#fail(
        `The connector's server sent a message of more than ${lineBytesMax} bytes. Request a smaller response.`,
      )
    }
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

  /**
   * Delivers a message. Ignores the error that the client throws for an unexpected response, such as one to an
   * abandoned call.
   */
  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }

  /** Reports a failure after a short delay, so that the error can include the exit status. */
  #failSoon(message: string): void {
    if (this.#isOver) return
    setTimeout(() => this.#fail(this.#exit ?? message), settleMs).unref()
  }

  #fail(message: string): void {
    if (this.#isOver) return
    this.#failure = new ConnectorError(message)
    this.#finish(this.#failure)
    this.#server?.stdin.destroy()
    this.#server?.stdout.destroy()
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

function closing(stream: Readable | Writable): Promise<void> {
  return new Promise((resolve) => stream.once('close', () => resolve()))
}

/** Describes the error for users. Omits the command and folder, which only the operator should see. */
function describeSpawn(error: unknown, cwd: string): string {
  const code = codeOf(error)
  const reason = () => {
    if (!existsSync(cwd)) return 'its folder does not exist'
    if (code === 'ENOENT') return 'its command was not found'
    if (code === 'EACCES') return 'its command is not executable'
    return `the system returned ${code}`
  }
  return `Could not start the connector's server: ${reason()}. Ask the operator to fix its configuration.`
}
