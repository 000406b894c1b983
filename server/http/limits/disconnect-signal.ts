import type { ServerResponse } from 'node:http'
import type { StreamReader } from '../../procedures/context.ts'

/** Returns a reader for a stream, even if the client disconnected while its request was read. */
export function streamReader(response: ServerResponse, stallMs: number): StreamReader {
  return { stallMs, cutOff: () => response.destroy(), left: disconnectSignal(response) }
}

/**
 * Aborts when the client disconnects before it has its response, or if it already has. No work is then done on its
 * behalf.
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
