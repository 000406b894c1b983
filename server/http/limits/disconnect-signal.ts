import type { ServerResponse } from 'node:http'
import type { StreamReader } from '../../procedures/context.ts'

/**
 * Returns the reader of a stream. Its signal is already aborted if the client disconnected while the request was read.
 */
export function streamReader(response: ServerResponse, stallMs: number): StreamReader {
  return { stallMs, cutOff: () => response.destroy(), left: disconnectSignal(response) }
}

/**
 * Returns a signal that aborts when the client disconnects before the response is complete, so that the service stops
 * working for it. The signal is already aborted if the client has disconnected.
 */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  // 'close' fires once, and never if the socket ended before it was assigned to the response.
  if (response.destroyed || response.socket?.destroyed) controller.abort()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller.signal
}
