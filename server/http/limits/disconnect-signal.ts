import type { ServerResponse } from 'node:http'
import type { StreamReader } from '../../procedures/context.ts'

/** For a client that may have left while its request was read. */
export function streamReader(response: ServerResponse, stallMs: number): StreamReader {
  return { stallMs, cutOff: () => response.destroy(), left: disconnectSignal(response) }
}

/** Aborts if the client leaves before it has its response, or has left already. Then no work is done on its behalf. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  // 'close' fires once, and never if the socket had ended before the response got it.
  if (response.destroyed || response.socket?.destroyed) controller.abort()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller.signal
}
