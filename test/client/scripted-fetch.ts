import type { ClientFetch } from '../../client/client.ts'

// Answers that need no connection: on a busy machine a real request may not even be sent within the short time of a test.

type FetchAnswer = (signal: AbortSignal) => Response

/** A result as the service's RPC writes it for a call that goes alone. */
export const rpcResult =
  (value: unknown): FetchAnswer =>
  () =>
    Response.json({ result: { data: { json: value } } })

/** An error as the service's RPC writes it for a call that goes alone. */
export const rpcRefusal =
  (errorCode: string, httpStatus: number, retryAfterSeconds: number): FetchAnswer =>
  () => {
    const data = { code: 'BAD_REQUEST', httpStatus, errorCode, retryAfterSeconds }
    return Response.json({ error: { json: { code: -32600, message: 'Refused.', data } } }, { status: httpStatus })
  }

/** The beginning of a body whose end never comes. */
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

/** Gives each request the next of the answers, and none from then on. `ended` resolves when one of them is aborted. */
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
