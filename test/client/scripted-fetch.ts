import type { ClientFetch } from '../../client/client.ts'

// Responses without a connection, because on a busy machine a real request may not even be sent within a test's short
// timeout.

type FetchAnswer = (signal: AbortSignal) => Response

/** A result of typed RPC for a single call. */
export const rpcResult =
  (value: unknown): FetchAnswer =>
  () =>
    Response.json({ result: { data: { json: value } } })

/** An error of typed RPC for a single call. */
export const rpcRefusal =
  (errorCode: string, httpStatus: number, retryAfterSeconds: number): FetchAnswer =>
  () => {
    const data = { code: 'BAD_REQUEST', httpStatus, errorCode, retryAfterSeconds }
    return Response.json({ error: { json: { code: -32600, message: 'Refused.', data } } }, { status: httpStatus })
  }

/** A response whose body never ends. */
export const unfinished =
  (status: number, text: string): FetchAnswer =>
  (signal) => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text))
        signal.addEventListener('abort', () => controller.error(signal.reason))
      },
    })
    return new Response(body, { status, headers: { 'Content-Type': 'application/json' } })
  }

/**
 * Returns a fetch that gives each request the next answer, and never answers further requests. `ended` resolves when a
 * request is aborted.
 */
export function scriptedFetch(...answers: FetchAnswer[]) {
  const sent: Headers[] = []
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  const fetch: ClientFetch = (_, init) => {
    const { signal } = init as { signal: AbortSignal }
    sent.push(new Headers(init.headers))
    signal.addEventListener('abort', () => resolve())
    const answer = answers[sent.length - 1]
    if (answer) return Promise.resolve(answer(signal))
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  }
  return { ended, fetch, sent }
}
