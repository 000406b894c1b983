import type { ServerResponse } from 'node:http'
import { withHeaders, type HeaderList } from './respond.ts'

type Lines = {
  headers: HeaderList
  type?: string
  /** Resolves with one or more complete lines, and with undefined after the last. */
  next: () => Promise<string | undefined>
  inForm?: (lines: string) => string
  stallMs: number
  /** Text to write after each `afterMs` of silence, so that no proxy mistakes the connection for a dead one. */
  idle?: { afterMs: number; text: string }
}

export const linesType = 'application/x-ndjson'

export async function writeLines(
  response: ServerResponse,
  { headers, idle, inForm, next, stallMs, type = linesType }: Lines,
): Promise<void> {
  if (response.destroyed) return
  // A proxy that buffers the response would defeat the purpose of the stream.
  const own = { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
  response.writeHead(200, withHeaders(headers, own))
  response.flushHeaders()
  let isIdle = true
  // Runs twice per `afterMs`, and writes the text if no line was written since the last run. One interval costs less
  // than a timer that every event resets.
  const look = ({ text }: NonNullable<Lines['idle']>) => {
    if (isIdle && !response.writableNeedDrain) response.write(text)
    isIdle = true
  }
  const timer = idle && setInterval(look, idle.afterMs / 2, idle)
  try {
    for (let lines = await next(); lines !== undefined; lines = await next()) {
      if (response.destroyed) return
      isIdle = false
      if (!response.write(inForm ? inForm(lines) : lines)) await drained(response, stallMs)
    }
  } finally {
    clearInterval(timer)
  }
  response.end()
}

/**
 * Resolves when the socket accepts more data or the connection has closed. Disconnects a client that has stopped
 * reading.
 */
function drained(response: ServerResponse, stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => response.destroy(), stallMs)
    const done = () => {
      clearTimeout(timer)
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.on('drain', done)
    response.on('close', done)
  })
}
