import { ErrandClientError } from './client-error.ts'
import type { Connection } from './connection.ts'
import { withDeadline } from './deadline.ts'
import { badResponse, networkError } from './odd-answer.ts'
import { refusalError } from './refusal-error.ts'

export type OpenChat = {
  body: ReadableStreamDefaultReader<Uint8Array>
  headers: Headers
  requestId: string | undefined
}

type ChatRequest = {
  /** JSON. */
  body: string
  idempotencyKey: string | undefined
  /** Ends the request, and after it the stream. */
  signal: AbortSignal
  timeoutMs: number
}

/**
 * Sends a message and resolves with its reply as soon as that starts, which is what has to happen within the time of a
 * request. Whatever answers without a stream is thrown.
 */
export async function openChat(connection: Connection, request: ChatRequest): Promise<OpenChat> {
  const { signal, timeoutMs } = request
  const createTimeoutError = () =>
    new ErrandClientError('TIMEOUT', `No reply started within ${timeoutMs} ms; it may be charged all the same.`)
  return await withDeadline({ signal, timeoutMs, createTimeoutError }, async () => {
    const response = await send(connection, request)
    // Too late, and of a fetch that does not mind its signal: what nobody reads would be written and charged.
    if (signal.aborted) await response.body?.cancel(signal.reason)
    signal.throwIfAborted()
    if (response.status !== 200) throw refusalError(response, await readText(response))
    if (!isStream(response) || !response.body) throw badResponse(response, undefined)
    const { headers } = response
    return { body: response.body.getReader(), headers, requestId: headers.get('x-request-id') ?? undefined }
  })
}

async function send(connection: Connection, { body, idempotencyKey, signal }: ChatRequest): Promise<Response> {
  const { baseUrl, fetch, headers } = connection
  try {
    return await fetch(`${baseUrl}/api/chat`, {
      method: 'POST',
      headers: {
        ...headers,
        accept: 'application/x-ndjson',
        'content-type': 'application/json',
        ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      },
      body,
      signal,
      // A redirect that is followed would lose the key or turn the POST into a GET.
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
