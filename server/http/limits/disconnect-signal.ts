import type { ServerResponse } from 'node:http'
import type { StreamReader } from '../../procedures/context.ts'

export function streamReader(response: ServerResponse, stallMs: number): StreamReader {
  return { stallMs, cutOff: () => response.destroy(), left: disconnectSignal(response) }
}

/**
 * Returns a signal that aborts if the client disconnects before the response is complete, or has already disconnected.
 */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  // 'close' never fires if the socket ended before it was assigned to the response.
  if (response.destroyed || response.socket?.destroyed) controller.abort()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller.signal
}
