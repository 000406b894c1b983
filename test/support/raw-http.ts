import { connect, type Socket } from 'node:net'
import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, expect } from 'vitest'
import { errorCatalogue, type ErrorCode } from '../../server/kernel/errors.ts'
import { openResources } from './resources.ts'
import { countRows, engine, withRaw, type RawDatabase } from './test-engine.ts'
import { waitMsMax, within } from './until.ts'
import { startService, type Answer, type Person, type TestService } from './test-service.ts'

// Requests with exact bytes that no HTTP library would send, and checks for every rejection.

/** A raw connection that reads one response at a time. Leaving a `using` block closes it. */
export class RawConnection {
  readonly #socket: Socket
  readonly #name: string
  #received = Buffer.alloc(0)
  #hasEnded = false
  #onChange = () => {}

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#name = `connection from port ${socket.localPort}`
    openResources.add(this.#name)
    socket.on('data', (chunk: Buffer) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#onChange()
    })
    const onEnd = () => {
      this.#hasEnded = true
      this.#onChange()
    }
    // A reset by the server also ends the connection.
    socket.on('error', onEnd).on('end', onEnd).on('close', onEnd)
  }

  /** Opens a half-open connection: when the server closes its side, the client can still send. */
  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new RawConnection(socket)
  }

  /** Received bytes that do not belong to a response read so far. */
  get received(): Buffer {
    return this.#received
  }

  /** Resolves once the bytes have been handed to the operating system. */
  send(bytes: string | Buffer): Promise<void> {
    return new Promise((resolve) => this.#socket.write(bytes, () => resolve()))
  }

  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    this.#socket.resume()
  }

  /** Closes only the sending side, so responses can still be read. */
  finishSending(): void {
    this.#socket.end()
  }

  reset(): void {
    this.#socket.resetAndDestroy()
  }

  #change(): Promise<void> {
    const next = new Promise<void>((resolve) => (this.#onChange = resolve))
    return within(`more on a connection, after ${this.#received.toString('latin1').slice(-300)}`, waitMsMax, next)
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
    openResources.delete(this.#name)
  }

  /** Reads the next response. Undefined if the connection ends before the response is complete. */
  async readAnswer({ isHead = false } = {}): Promise<Answer | undefined> {
    for (;;) {
      const parsed = parseAnswer(this.#received, isHead)
      if (parsed) {
        this.#received = this.#received.subarray(parsed.length)
        return parsed.answer
      }
      if (this.#hasEnded) return undefined
      await this.#change()
    }
  }

  /** Resolves when the first bytes arrive or the connection ends. */
  async begun(): Promise<void> {
    while (this.#received.length === 0 && !this.#hasEnded) await this.#change()
  }

  /** Resolves when the server has closed its side. */
  async ended(): Promise<void> {
    while (!this.#hasEnded) await this.#change()
  }
}

function parseAnswer(bytes: Buffer, isHead: boolean): { answer: Answer; length: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const [statusLine, ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine!)?.[1])
  const headers = new Headers(lines.map((line) => line.split(/:(.*)/s, 2) as [string, string]))
  const body = parseBody(bytes, { at: headEnd + 4, headers, isEmpty: isHead || status < 200 || status === 204 })
  if (!body) return undefined
  const isJson = headers.get('content-type')?.startsWith('application/json')
  return {
    answer: { status, headers, body: isJson && body.text ? JSON.parse(body.text) : body.text },
    length: body.end,
  }
}

function parseBody(
  bytes: Buffer,
  { at, headers, isEmpty }: { at: number; headers: Headers; isEmpty: boolean },
): { text: string; end: number } | undefined {
  if (isEmpty) return { text: '', end: at }
  if (headers.get('transfer-encoding') !== 'chunked') {
    const end = at + Number(headers.get('content-length'))
    return end <= bytes.length ? { text: bytes.toString('utf8', at, end), end } : undefined
  }
  const chunks: Buffer[] = []
  for (let start = at; ;) {
    const sizeEnd = bytes.indexOf('\r\n', start)
    if (sizeEnd === -1) return undefined
    const size = parseInt(bytes.toString('latin1', start, sizeEnd), 16)
    const end = sizeEnd + 2 + size
    if (end + 2 > bytes.length) return undefined
    if (size === 0) return { text: Buffer.concat(chunks).toString('utf8'), end: end + 2 }
    chunks.push(bytes.subarray(sizeEnd + 2, end))
    start = end + 2
  }
}

/** Sends bytes on a new connection and resolves with the response, if any. */
export async function sendRaw(
  url: string,
  bytes: string | Buffer,
  options?: { isHead: boolean },
): Promise<Answer | undefined> {
  using connection = await RawConnection.open(url)
  await connection.send(bytes)
  return await connection.readAnswer(options)
}

/**
 * Builds a request with Host and Content-Length. A line with characters above U+00FF is encoded as UTF-8, any other
 * line with one byte per character, such as `\xff`.
 */
export function rawRequest(target: string, lines: readonly string[], body: string | Buffer = ''): Buffer {
  const length = Buffer.byteLength(body)
  const head = [
    `${target} HTTP/1.1`,
    'Host: test',
    ...lines,
    ...(length > 0 ? [`Content-Length: ${length}`] : []),
    '',
    '',
  ]
  const encoding = (line: string) => (/[^\0-\xff]/.test(line) ? 'utf8' : 'latin1')
  return Buffer.concat([
    ...head.flatMap((line, index) => [Buffer.from(index === 0 ? '' : '\r\n'), Buffer.from(line, encoding(line))]),
    Buffer.from(body),
  ])
}

/** A service and one of its users. Rejected requests must not change the state of either. */
export type Guarded = { service: TestService; person: Person; raw?: RawDatabase }

/** Shares one service among all tests of a file. No test may change anything. Stops it after the last test. */
export function shareService(options?: Parameters<typeof startService>[0]): Guarded {
  const guarded = {} as Guarded
  beforeAll(async () => {
    guarded.service = await startService(options)
    guarded.person = await guarded.service.createPerson()
    guarded.raw = await engine().openRaw(guarded.service.dataDir)
    // The leak check runs after every test, but this service lives until the last one and is stopped below.
    openResources.delete(`service on ${guarded.service.url}`)
  })
  afterAll(async () => {
    await guarded.raw?.close()
    await guarded.service.stop()
  })
  return guarded
}

async function stateOf({ service, person, raw }: Guarded): Promise<object> {
  const account = await service.get('/api/account', person.key)
  expect(account.status, 'the service answers a good request').toBe(200)
  const payloads = readdirSync(service.dataDir, { recursive: true }).filter((name) => /pay_/.test(String(name)))
  return {
    account: account.body,
    slotsLeft: account.headers.get('x-ratelimit-remaining'),
    rows: await (raw ? countRows(raw) : withRaw(service.dataDir, countRows)),
    payloads: payloads.length,
  }
}

/** Asserts that the action changes no balance, row, payload or rate limit slot. */
export async function expectUnchanged<Result>(guarded: Guarded, act: () => Promise<Result>): Promise<Result> {
  const before = await stateOf(guarded)
  const result = await act()
  expect(await stateOf(guarded), 'balance, rows, payloads and rate window').toEqual(before)
  return result
}

export type Refusal = {
  status: number
  /** The expected `error` of the body, if the status has more than one. */
  error?: string
  /** A path that `details` must include. */
  field?: string
  message?: RegExp
}

const errorOfStatus: Record<number, string> = {
  400: 'Bad request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  409: 'Conflict',
  413: 'Payload too large',
  415: 'Unsupported media type',
  417: 'Expectation failed',
  429: 'Rate limit exceeded',
  431: 'Request header fields too large',
}

/** Asserts that a REST request is rejected with this status and body, and changes nothing. */
export async function expectRefused(
  guarded: Guarded,
  expected: Refusal,
  send: () => Promise<Answer | undefined>,
): Promise<Answer> {
  const answer = await expectUnchanged(guarded, send)
  expectErrorBody(answer, expected)
  return answer!
}

/**
 * Asserts that the body is the documented error body without internals, and that a 400 names the field in `details`.
 */
export function expectErrorBody(answer: Answer | undefined, { status, error, field, message }: Refusal): void {
  expect(answer, 'is answered').toBeDefined()
  const { body, headers } = answer!
  expect(answer!.status, JSON.stringify(body).slice(0, 500)).toBe(status)
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-z]{26}$/)
  expect(body).toEqual({
    error: error ?? errorOfStatus[status],
    message: expect.stringMatching(message ?? /\S/),
    statusCode: status,
    code: expect.any(String),
    ...(status === 400 && { details: expect.any(Array) }),
  })
  expect(errorCatalogue[body.code as ErrorCode], body.code).toEqual({ status, error: body.error })
  if (status === 400) expectDetails(body.details, field)
  expect(JSON.stringify(body)).not.toMatch(/node_modules|\.ts:\d|SQLITE|at \w+ \(/)
}

/** Asserts the same for typed RPC, which puts the error code into an envelope. */
export function expectRpcError(envelope: any, { status, field, message }: Refusal): void {
  const { data, message: text } = envelope.error.json
  expect(data.httpStatus, JSON.stringify(envelope).slice(0, 500)).toBe(status)
  expect(data.errorCode).toMatch(/^[A-Z_]+$/)
  expect(text).toMatch(message ?? /\S/)
  if (status === 400) expectDetails(data.details, field)
  expect(JSON.stringify(envelope)).not.toMatch(/node_modules|\.ts:\d|SQLITE|at \w+ \(|"stack"/)
}

export async function expectRpcRefused(
  guarded: Guarded,
  expected: Refusal,
  send: () => Promise<Answer | undefined>,
): Promise<Answer> {
  const answer = await expectUnchanged(guarded, send)
  expect(answer, 'is answered').toBeDefined()
  expect(answer!.status, JSON.stringify(answer!.body).slice(0, 500)).toBe(expected.status)
  expect(answer!.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer!.headers.get('x-request-id')).toMatch(/^req_[0-9a-z]{26}$/)
  expectRpcError(answer!.body, expected)
  return answer!
}

function expectDetails(details: { path: string; message: string }[], field: string | undefined): void {
  expect(details.length).toBeGreaterThan(0)
  for (const detail of details)
    expect(detail).toEqual({ path: expect.any(String), message: expect.stringMatching(/\S/) })
  if (field !== undefined) expect(details.map(({ path }) => path)).toContain(field)
}
