import type { ServerResponse } from 'node:http'
import type { StreamReader } from '../../chat/chat-stream.ts'

/** Of a client that may have left while its request was read. */
export function streamReader(response: ServerResponse, stallMs: number): StreamReader {
  return { stallMs, cutOff: () => response.destroy(), left: disconnectSignal(response) }
}

/** Aborts when the client goes away before it has its answer, or has gone already, so that nobody works on its behalf. */
export function disconnectSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  // It tells of its end once, and a socket that has ended before it is given to it never does.
  if (response.destroyed || response.socket?.destroyed) controller.abort()
  response.once('close', () => {
    if (!response.writableEnded) controller.abort()
  })
  return controller.signal
}
