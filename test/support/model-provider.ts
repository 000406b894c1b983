import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openResources } from './resources.ts'

export type ModelRequest = {
  path: string
  headers: IncomingHttpHeaders
  body: any
  at: number
  /** Time at which the client closed the connection before the response was complete; null if it did not. */
  abortedAt: number | null
}

export type Script = (response: ServerResponse, request: ModelRequest) => void | Promise<void>

/**
 * A model provider on its own port. It speaks OpenAI's chat completions format over node:http, or sends any bytes that
 * a script writes. Each request runs the next script, and the last script handles all further requests.
 */
export class ModelProvider {
  readonly requests: ModelRequest[] = []
  readonly url: string
  readonly #server: Server
  #scripts: Script[] = []

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    openResources.add(this.#name)
    server.on('request', (request, response) => void this.#answer(request, response))
  }

  static async start(): Promise<ModelProvider> {
    const server = createServer({ keepAliveTimeout: 0 })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new ModelProvider(server)
  }

  get #name(): string {
    return `model provider on ${this.url}`
  }

  play(...scripts: Script[]): void {
    this.requests.length = 0
    this.#scripts = scripts
  }

  get bodies(): any[] {
    return this.requests.map(({ body }) => body)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    openResources.delete(this.#name)
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    incoming.setEncoding('utf8')
    for await (const chunk of incoming) text += chunk as string
    const { headers, url } = incoming
    const request: ModelRequest = { path: url!, headers, body: JSON.parse(text), at: Date.now(), abortedAt: null }
    this.requests.push(request)
    response.on('close', () => {
      if (!response.writableFinished) request.abortedAt = Date.now()
    })
    const script = (this.#scripts.length > 1 ? this.#scripts.shift() : this.#scripts[0]) ?? reply({})
    await script(response, request)
  }
}

type WireUsage = {
  prompt_tokens: number
  completion_tokens: number
  total_tokens?: number
  prompt_tokens_details?: { cached_tokens: number }
  completion_tokens_details?: { reasoning_tokens: number }
}

export type Reply = {
  reasoning?: string[]
  text?: string[]
  /** `args` is a JSON string, or its pieces. */
  calls?: { id: string; name: string; args: string | string[] }[]
  finish?: string
  /** If null, the response reports no usage. */
  usage?: WireUsage | null
}

export const plainUsage: WireUsage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }

const head = { id: 'chatcmpl-1', created: 1_767_225_600, model: 'stub-1' }

/** Sends a correct response, streamed if the request asks for it. */
export function reply(content: Reply): Script {
  return async (response, { body }) => {
    if (!body.stream) return sendJson(response, wholeAnswer(content))
    beginStream(response)
    for (const chunk of chunksOf(content)) await sendEvent(response, chunk)
    if (content.usage !== null && body.stream_options?.include_usage) {
      await sendEvent(response, chunkOf([], content.usage ?? plainUsage))
    }
    response.end('data: [DONE]\n\n')
  }
}

/** Starts a streamed response and then runs `next`. */
export function replyThen(content: Reply, next: Script): Script {
  return async (response, request) => {
    beginStream(response)
    for (const chunk of chunksOf(content).slice(0, -1)) await sendEvent(response, chunk)
    await next(response, request)
  }
}

/** Sends an HTTP error with OpenAI's error body. A `Retry-After-Ms` of 1 makes the client retry quickly. */
export function refuse(
  status: number,
  message: string,
  { headers = { 'Retry-After-Ms': '1' }, type = 'error' }: { headers?: Record<string, string>; type?: string } = {},
): Script {
  return (response) => {
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers })
    response.end(JSON.stringify({ error: { message, type, param: null, code: null } }))
  }
}

/** Sends these bytes, each element in its own chunk. */
export function sendBytes(chunks: readonly (string | Uint8Array)[], { status = 200, type = 'text/event-stream' } = {}) {
  return async (response: ServerResponse): Promise<void> => {
    response.writeHead(status, { 'Content-Type': type, 'Retry-After-Ms': '1' })
    for (const chunk of chunks) await write(response, chunk)
    response.end()
  }
}

/** Sends one event and ends the stream, for example to test an error in the middle of a stream. */
export function sendLast(event: unknown): Script {
  return async (response) => {
    await sendEvent(response, event)
    response.end('data: [DONE]\n\n')
  }
}

export const cut: Script = (response) => void response.destroy()

/** Ends the response as if it were complete. */
export const endEarly: Script = (response) => void response.end()

export const hang: Script = () => {}

export function endless(delta: string, everyMs = 5): Script {
  return (response) => {
    if (!response.headersSent) beginStream(response)
    const timer = setInterval(() => {
      if (response.writableNeedDrain) return
      response.write(eventText(chunkOf([{ index: 0, delta: { content: delta }, finish_reason: null }])))
    }, everyMs)
    response.on('close', () => clearInterval(timer))
  }
}

function beginStream(response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-cache' })
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
}

function sendEvent(response: ServerResponse, event: unknown): Promise<void> {
  return write(response, eventText(event))
}

export function eventText(event: unknown): string {
  return `data: ${JSON.stringify(event)}\n\n`
}

/** Writes a transfer chunk that the client reads separately. */
async function write(response: ServerResponse, chunk: string | Uint8Array): Promise<void> {
  response.write(chunk)
  await nextTurn()
}

export function plainChunk(delta: object) {
  return chunkOf([{ index: 0, delta, finish_reason: null }])
}

function chunkOf(choices: unknown[], usage: WireUsage | null = null) {
  return { ...head, object: 'chat.completion.chunk', choices, usage }
}

function finishOf({ calls = [], finish }: Reply): string {
  return finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')
}

function chunksOf(content: Reply): unknown[] {
  const { calls = [], reasoning = [], text = [] } = content
  const deltas: object[] = [{ role: 'assistant', content: '' }]
  for (const part of reasoning) deltas.push({ reasoning_content: part })
  for (const part of text) deltas.push({ content: part })
  for (const [index, { args, id, name }] of calls.entries()) {
    const [first = '', ...more] = typeof args === 'string' ? [args] : args
    deltas.push({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: first } }] })
    for (const part of more) deltas.push({ tool_calls: [{ index, function: { arguments: part } }] })
  }
  return [
    ...deltas.map((delta) => chunkOf([{ index: 0, delta, finish_reason: null }])),
    chunkOf([{ index: 0, delta: {}, finish_reason: finishOf(content) }]),
  ]
}

function wholeAnswer(content: Reply) {
  const { calls = [], reasoning = [], text = [], usage } = content
  const message = {
    role: 'assistant',
    content: text.length > 0 ? text.join('') : null,
    ...(reasoning.length > 0 && { reasoning_content: reasoning.join('') }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ args, id, name }) => ({
        id,
        type: 'function',
        function: { name, arguments: typeof args === 'string' ? args : args.join('') },
      })),
    }),
  }
  return {
    ...head,
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: finishOf(content) }],
    ...(usage !== null && { usage: usage ?? plainUsage }),
  }
}
