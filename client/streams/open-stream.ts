import { ErrandClientError } from '../client-error.ts'
import type { Connection } from '../connection.ts'
import { withDeadline } from '../deadline.ts'
import { badResponse, networkError } from '../odd-answer.ts'
import { refusalError } from '../refusal-error.ts'

export type OpenStream = {
  body: ReadableStreamDefaultReader<Uint8Array>
  headers: Headers
  requestId: string | undefined
}

type StreamRequest = {
  /** Path below the base URL. */
  path: string
  /** JSON body. If it is set, the request is a POST. */
  body?: string
  idempotencyKey?: string | undefined
  /** Aborts the request, and later the stream. */
  signal: AbortSignal
  timeoutMs: number
  late: string
  /** Whether 204 is a valid response, which means that no events follow. */
  mayBeEmpty?: boolean
}

/** How long a response may stay open after its last event. */
const closeMs = 1000

/**
 * Requests a stream of events and resolves when it starts. The timeout covers only the time until then. Throws an error
 * if the response is not a stream.
 */
export async function openStream(
  connection: Connection,
  request: StreamRequest & { mayBeEmpty: true },
): Promise<OpenStream | undefined>
export async function openStream(connection: Connection, request: StreamRequest): Promise<OpenStream>
export async function openStream(connection: Connection, request: StreamRequest): Promise<OpenStream | undefined> {
  const { late, signal, timeoutMs } = request
  const createTimeoutError = () => new ErrandClientError('TIMEOUT', late)
  return await withDeadline({ signal, timeoutMs, createTimeoutError }, async () => {
    const response = await send(connection, request)
    // If fetch ignores its signal, the response can arrive after the signal aborts. If the response were not canceled,
    // the service would generate and charge for an unread reply.
    if (signal.aborted) await response.body?.cancel(signal.reason)
    signal.throwIfAborted()
    if (response.status === 204 && request.mayBeEmpty) return undefined
    if (response.status !== 200) throw refusalError(response, await readText(response))
    if (!isStream(response) || !response.body) throw badResponse(response, undefined)
    const { headers } = response
    return { body: response.body.getReader(), headers, requestId: headers.get('x-request-id') ?? undefined }
  })
}

export async function readChunk(
  { body }: OpenStream,
  brokenOff: (cause: unknown) => ErrandClientError,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  try {
    return await body.read()
  } catch (cause) {
    throw brokenOff(cause)
  }
}

/**
 * Waits briefly for the response to end after its last event, so that the connection can be reused. If the response
 * does not end, calls `stop` to drop the connection.
 */
export async function closeStream({ body }: OpenStream, stop: (reason: unknown) => void): Promise<void> {
  const createTimeoutError = () =>
    new ErrandClientError('TIMEOUT', 'The stream did not end after its last event. Check any proxies.')
  const deadline = { signal: undefined, timeoutMs: closeMs, createTimeoutError }
  const isEnd = await withDeadline(deadline, () => body.read()).then(
    ({ done }) => done,
    () => false,
  )
  if (!isEnd) stop(undefined)
}

async function send(
  { baseUrl, fetch, headers }: Connection,
  { body, idempotencyKey, path, signal }: StreamRequest,
): Promise<Response> {
  try {
    return await fetch(baseUrl + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...headers,
        accept: 'application/x-ndjson',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      ...(body !== undefined && { body }),
      signal,
      // Following a redirect could lose the key or turn a POST into a GET.
      redirect: 'manual',
    })
  } catch (cause) {
    throw networkError(cause)
  }
}

async function readText(response: Response): Promise<string> {
  try {
    return await response.text()
  } catch (cause) {
    throw networkError(cause)
  }
}

function isStream({ headers }: Response): boolean {
  return /^application\/(?:x-)?ndjson\b/i.test(headers.get('content-type') ?? '')
}
