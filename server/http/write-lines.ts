import type { ServerResponse } from 'node:http'
import { withHeaders, type HeaderList } from './respond.ts'

type Lines = {
  headers: HeaderList
  type?: string
  /** Several whole lines at a time; undefined after the last. */
  next: () => Promise<string | undefined>
  stallMs: number
  /** Written where nothing else is for a while, so that nobody on the way takes the connection for a dead one. */
  idle?: { everyMs: number; text: string }
}

export const linesType = 'application/x-ndjson'

/** Streams lines as they come, at the pace at which they are read. */
export async function writeLines(
  response: ServerResponse,
  { headers, idle, next, stallMs, type = linesType }: Lines,
): Promise<void> {
  if (response.destroyed) return
  // A proxy that collects an answer before it passes it on would defeat the stream.
  const own = { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
  response.writeHead(200, withHeaders(headers, own))
  response.flushHeaders()
  const timer = idle && setInterval(() => !response.writableNeedDrain && response.write(idle.text), idle.everyMs)
  try {
    for (let lines = await next(); lines !== undefined; lines = await next()) {
      if (response.destroyed) return
      if (!response.write(lines)) await drained(response, stallMs)
      timer?.refresh()
    }
  } finally {
    clearInterval(timer)
  }
  response.end()
}

/** Resolves when there is room again, or nobody reads any more; a reader that has stopped is cut off. */
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
