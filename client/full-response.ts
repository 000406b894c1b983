import { repeatWhileTransient, retryPauseMsMax } from './backoff.ts'
import { ErrandClientError } from './client-error.ts'
import type { Connection } from './connection.ts'
import { pause, withDeadline } from './deadline.ts'
import { badResponse, isRecord, networkError, parseJson } from './odd-answer.ts'
import { refusalError } from './refusal-error.ts'
import type { Task } from './types/client-types.ts'

type FetchOptions = { signal?: AbortSignal | undefined }

/** Fetches a task's full response. The task itself contains only the start of a response larger than 16 KB. */
export async function fetchFullResponse(
  connection: Connection,
  { response, responseUri }: Pick<Task, 'response' | 'responseUri'>,
  { signal }: FetchOptions = {},
): Promise<Record<string, unknown> | null> {
  if (responseUri === undefined) return response as Record<string, unknown> | null
  const { fetch, maxRetries, onRetry, requestTimeoutMs: timeoutMs } = connection
  const createTimeoutError = () =>
    new ErrandClientError(
      'TIMEOUT',
      `The task's response did not arrive within ${timeoutMs} ms. Try again or allow more time.`,
    )
  const repetition = {
    failuresMax: maxRetries + 1,
    pauseMsMax: retryPauseMsMax,
    pause: (ms: number) => pause(ms, signal),
    onFailure: (error: ErrandClientError, delayMs: number, retry: number) =>
      onRetry({ operation: 'tasks.fetchResponse', error, delayMs, retry }),
  }
  try {
    return await repeatWhileTransient(repetition, () =>
      withDeadline({ signal, timeoutMs, createTimeoutError }, async (own) => {
        // The URL is signed and may point to a bucket. Send neither the key nor any header that requires a CORS
        // preflight.
        const [answer, text] = await fetch(responseUri, { signal: own })
          .then(async (answer) => [answer, await answer.text()] as const)
          .catch((cause: unknown) => Promise.reject(networkError(cause)))
        if (!answer.ok) throw refusalError(answer, text)
        const value = parseJson(text)
        if (!isRecord(value)) throw badResponse(answer, value)
        return value
      }),
    )
  } catch (thrown) {
    signal?.throwIfAborted()
    throw thrown
  }
}
