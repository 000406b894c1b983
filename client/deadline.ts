import { ErrandClientError } from './client-error.ts'

/** Maximum delay of a JavaScript timer. Timers with longer delays fire immediately. */
const timerMsMax = 2 ** 31 - 1

type Deadline = {
  signal: AbortSignal | undefined
  timeoutMs: number
  createTimeoutError: () => ErrandClientError
}

/**
 * Runs the work with a signal that aborts when the caller's signal aborts or the timeout expires. Then rejects
 * immediately with the caller's reason or the timeout error, even if the work ignores the signal.
 */
export async function withDeadline<T>(
  { signal, timeoutMs, createTimeoutError }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let onAbort = () => {}
  const stopped = new Promise<never>((_, reject) => {
    const stop = (reason: unknown) => {
      reject(reason)
      controller.abort(reason)
    }
    onAbort = () => stop(signal?.reason)
    if (timeoutMs <= timerMsMax) timer = setTimeout(() => stop(createTimeoutError()), timeoutMs)
  })
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([work(controller.signal), stopped])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

/** Rejects with the abort reason when the signal aborts. The work continues. */
export async function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  const createTimeoutError = () => new ErrandClientError('TIMEOUT', 'The call timed out. Try again or allow more time.')
  return await withDeadline({ signal, timeoutMs: Infinity, createTimeoutError }, () => work)
}

/** Resolves after `ms`. Rejects with the signal's reason on abort. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', onAbort)
        resolve()
      },
      Math.min(ms, timerMsMax),
    )
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}
