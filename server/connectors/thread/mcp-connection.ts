import { AsyncLocalStorage } from 'node:async_hooks'
import type { ListToolsResult, MCPClient, MCPClientConfig } from '@ai-sdk/mcp'
import type { JsonSchema, ToolAnswer } from '../tool-types.ts'
import type { ConnectorBounds } from '../connector-bounds.ts'
import { ConnectorError, type ConnectorSpec, type RenewToken } from '../connector-spec.ts'
import { withAccessToken } from './access-token.ts'
import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts'
import { StdioTransport } from './stdio-transport.ts'
import { filterOf } from '../secret-filter.ts'
import { answerError, isTooDeep, levelsMax, toToolAnswer } from './tool-answer.ts'

type ToolEffect = 'readOnly' | 'destructive'
export type McpTool = {
  name: string
  title?: string
  description: string
  /** Declared by the server. */
  effect?: ToolEffect
  inputSchema: JsonSchema
}

export type OpenOptions = {
  signal: AbortSignal
  bounds: ConnectorBounds
  renew?: RenewToken | undefined
  onClosed?: () => void
  /** Time limits for each step of opening a connection, and for a call. */
  openMs?: number
  callMs?: number
}

const openMsDefault = 15_000
const connectMs = 10_000
/** The same default as in the official MCP SDK. */
const callMsDefault = 60_000
/**
 * How long to wait after a call's stream has ended, because the response may still arrive over the general event
 * stream.
 */
const lateMs = 1000
const closeMs = 3000
const bytesMax = 10 * 1024 * 1024
const pagesMax = 20
const toolsMax = 500
const toolsCharsMax = 1024 * 1024
const descriptionCharsMax = 4000

/**
 * Maximum number of pending replies to requests from a server, such as pings. Each reply takes a connection, and a
 * server can send thousands of requests in one response. Further replies are dropped.
 */
const repliesMax = 8

/** Callback for the call that an HTTP request belongs to. It runs when the stream with the call's response ends. */
const streamEnd = new AsyncLocalStorage<(error?: unknown) => void>()

/**
 * One client of one MCP server, for one run. Any response from the server is a result, even a tool error. If there is
 * no response, the call throws a ConnectorError and the connection can no longer be used.
 */
export class McpConnection {
  readonly spec: ConnectorSpec
  /** Values to redact from all messages, including tokens that are added later. */
  #secrets: readonly string[]
  readonly #signal: AbortSignal
  readonly #openMs: number
  readonly #callMs: number
  #client: MCPClient | undefined
  #http: GuardedFetch | undefined
  #stdio: StdioTransport | undefined
  #closing: Promise<void> | undefined
  readonly #onClosed: () => void

  private constructor(
    spec: ConnectorSpec,
    { callMs = callMsDefault, onClosed = () => {}, openMs = openMsDefault, signal }: OpenOptions,
  ) {
    this.spec = spec
    this.#secrets = spec.secrets
    this.#onClosed = onClosed
    this.#signal = signal
    this.#openMs = openMs
    this.#callMs = callMs
  }

  /** Throws a ConnectorError if the connection cannot be opened. */
  static async open(spec: ConnectorSpec, options: OpenOptions): Promise<McpConnection> {
    const { signal } = options
    const connection = new McpConnection(spec, options)
    try {
      // Import lazily: only runs with connectors need this module.
      const { createMCPClient } = await import('@ai-sdk/mcp')
      connection.#client = await createMCPClient({
        transport: connection.#transport(options),
        clientName: 'errand',
        // Do not use discovery for stdio servers. Some exit or do not respond if they get a request before the
        // handshake (`initialize`).
        protocolVersionDiscovery: spec.target.kind !== 'stdio',
        initializationOptions: { timeout: connection.#openMs, signal },
        // Ignore these errors, because the failed request reports them.
        onUncaughtError: () => {},
      })
      return connection
    } catch (thrown) {
      await connection.close()
      throw connection.#describe(thrown, connection.#openMs)
    }
  }

  #transport({ bounds, renew }: OpenOptions): MCPClientConfig['transport'] {
    const { connectorId, target, userId } = this.spec
    const answers = { userId, places: bounds.answers }
    switch (target.kind) {
      case 'unusable':
        throw new ConnectorError(target.reason)
      case 'http': {
        const { access, headers, privateHosts, url } = target
        const guarded = (this.#http = createGuardedFetch({
          privateHosts,
          bytesMax,
          connectMs,
          answers,
          lookups: { userId, places: bounds.lookups },
        }))
        const ofRun = { connectorId, userId }
        const onToken = (token: string) => (this.#secrets = [...this.#secrets, token])
        const send = access ? withAccessToken(guarded.fetch, { access, ofRun, renew, onToken }) : guarded.fetch
        let replies = 0
        const ask: typeof globalThis.fetch = async (input, init) =>
          watchEnd(withoutRefusal(await send(input, init)), init)
        const reply: typeof globalThis.fetch = async (input, init) => {
          if (replies === repliesMax)
            throw new ConnectorError('The server sent too many requests at the same time. Report this to its operator.')
          replies++
          return await ask(input, init).finally(() => replies--)
        }
        const fetch: typeof globalThis.fetch = (input, init) => (isReply(init) ? reply(input, init) : ask(input, init))
        return { type: 'http', url, headers, fetch }
      }
      default:
        return (this.#stdio = new StdioTransport(target, { lineBytesMax: bytesMax, answers }))
    }
  }

  /** Lists all tools that the server offers, including those the user does not allow. Throws a ConnectorError. */
  async listTools(): Promise<McpTool[]> {
    const client = this.#client
    if (!client?.initializeResult.capabilities.tools) return []
    const found: McpTool[] = []
    let chars = 0
    let cursor: string | undefined
    for (let page = 0; page < pagesMax && found.length < toolsMax; page++) {
      const params = cursor === undefined ? {} : { cursor }
      const listed = await this.#answered(this.#openMs, (options) => client.listTools({ params, options })).catch(
        (thrown: unknown) => {
          if (thrown instanceof ConnectorError) throw thrown
          // Use a fixed message, because the server's message may be long and contain secrets.
          throw this.#describe(
            new ConnectorError(
              'The server returned an error instead of a list of its tools. Report this to its operator.',
            ),
            0,
          )
        },
      )
      // Check the size first, because tools are sent to a model in every step and stay in memory for the whole run.
      const json = JSON.stringify(listed.tools)
      chars += json.length
      if (chars > toolsCharsMax) {
        throw this.#describe(
          new ConnectorError(
            `The server's tool descriptions have more than ${toolsCharsMax} characters. Use a server with fewer tools.`,
          ),
          0,
        )
      }
      if (isTooDeep(json))
        throw this.#describe(
          new ConnectorError(
            `The server's tool descriptions have more than ${levelsMax} levels of nesting. Report this to its operator.`,
          ),
          0,
        )
      found.push(...listed.tools.map(toTool))
      cursor = listed.nextCursor
      if (cursor === undefined) break
    }
    return filterOf(this.#secrets).clean(found.slice(0, toolsMax))
  }

  /** Throws a ConnectorError if the server does not respond. */
  async call(name: string, args: Record<string, unknown>): Promise<ToolAnswer> {
    const client = this.#client
    if (!client) throw this.#describe(new ConnectorError('The connection is closed. Try again.'), this.#callMs)
    try {
      const call = { name, arguments: args }
      const answered = await this.#answered(this.#callMs, (options) => client.callTool({ ...call, options }))
      return toToolAnswer(answered, this.#secrets)
    } catch (thrown) {
      if (thrown instanceof ConnectorError) throw thrown
      return answerError(String((thrown as Error).message), this.#secrets)
    }
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close().finally(this.#onClosed))
  }

  async #close(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, closeMs)))
    await Promise.race([client?.close().catch(() => {}), late])
    clearTimeout(timer)
    this.#http?.close()
    await this.#stdio?.close()
  }

  /**
   * Resolves with the response to a request. Throws a ConnectorError if there is no response or the stream ends early,
   * because the library would otherwise wait until the timeout. A protocol error is a response and is thrown unchanged.
   */
  async #answered<Result>(
    limitMs: number,
    request: (options: { timeout: number; signal: AbortSignal }) => Promise<Result>,
  ): Promise<Result> {
    const ended = Promise.withResolvers<never>()
    let timer: NodeJS.Timeout | undefined
    const onEnd = (error?: unknown) => {
      if (error !== undefined) return ended.reject(error)
      const early = new ConnectorError('The server ended its response before it was complete. Try again.')
      timer ??= setTimeout(() => ended.reject(early), lateMs)
    }
    try {
      const options = { timeout: limitMs, signal: this.#signal }
      return await Promise.race([streamEnd.run(onEnd, () => request(options)), ended.promise])
    } catch (thrown) {
      if (isProtocolError(thrown)) throw thrown
      throw this.#describe(thrown, limitMs)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Returns an error without a cause, because the library's errors contain request headers. */
  #describe(thrown: unknown, limitMs: number): ConnectorError {
    const reason = this.#stdio?.failure ?? thrown
    const sentence = reason instanceof ConnectorError ? reason.message : describeFailure(thrown, limitMs)
    const text = `Connector "${this.spec.name}": ${sentence}`
    return new ConnectorError(filterOf(this.#secrets).cleanText(text))
  }
}

function toTool({
  annotations,
  description = '',
  inputSchema,
  name,
  title,
}: ListToolsResult['tools'][number]): McpTool {
  const effect = annotations?.readOnlyHint ? 'readOnly' : annotations?.destructiveHint ? 'destructive' : undefined
  return {
    name,
    ...(title !== undefined && { title: title.slice(0, descriptionCharsMax) }),
    description: description.slice(0, descriptionCharsMax),
    ...(effect !== undefined && { effect }),
    inputSchema: { ...inputSchema, type: 'object', properties: inputSchema.properties ?? {} },
  }
}

/** Whether the server responded with a protocol error, which has a JSON-RPC code. */
function isProtocolError(thrown: unknown): boolean {
  return (
    thrown instanceof Error &&
    'code' in thrown &&
    typeof thrown.code === 'number' &&
    !('statusCode' in thrown && thrown.statusCode)
  )
}

function describeFailure(thrown: unknown, limitMs: number): string {
  const { message = '', statusCode: status } = thrown as { message?: string; statusCode?: number }
  if (status === 401 || status === 403)
    return `The server rejected the credentials (HTTP ${status}). Update them in the connector.`
  if (status === 404 || status === 405) return `There is no MCP server at this URL (HTTP ${status}). Correct the URL.`
  if (status !== undefined && (status < 200 || status > 299))
    return `The server responded with HTTP ${status}. Try again later.`
  if (/timed out/i.test(message)) return `The server did not respond within ${limitMs / 1000} seconds. Try again.`
  if (/connection closed/i.test(message)) return 'The server closed the connection. Try again.'
  if (/abort/i.test(message)) return 'The run was stopped.'
  return 'The server violated the Model Context Protocol. Report this to its operator.'
}

/**
 * Drops the body of an HTTP response whose status shows that the server did not process the call. Otherwise the library
 * could mistake a protocol error in the body for the result.
 */
function withoutRefusal(response: Response): Response {
  const { body, headers, status, statusText } = response
  if (status < 500 && ![401, 403, 404].includes(status)) return response
  void body?.cancel()
  return new Response(null, { headers, status, statusText })
}

/** Whether a request carries a reply to the server instead of a call or notification. */
function isReply(init: RequestInit | undefined): boolean {
  return typeof init?.body === 'string' && !('method' in (JSON.parse(init.body) as object))
}

/** Wraps an event stream to notify the pending call when the stream ends. Other responses are complete on arrival. */
function watchEnd(response: Response, init: RequestInit | undefined): Response {
  const onEnd = init?.method === 'POST' ? streamEnd.getStore() : undefined
  const { body, headers, status, statusText } = response
  if (!onEnd || !body || !headers.get('content-type')?.includes('text/event-stream')) return response
  const reader = body.getReader()
  const watched = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
        onEnd()
      } catch (error) {
        controller.error(error)
        onEnd(error)
      }
    },
    cancel: (reason) => reader.cancel(reason),
  })
  return new Response(watched, { headers, status, statusText })
}
