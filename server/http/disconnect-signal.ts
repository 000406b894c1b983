import type { ServerResponse } from 'node:http'

/** Aborts when the client goes away before it has its answer, so that nobody works on its behalf. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller.signal
}
