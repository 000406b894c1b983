import type { ServerResponse } from 'node:http'
import { withHeaders, type HeaderList } from './respond.ts'

type Lines = {
  headers: HeaderList
  /** Several whole lines at a time; undefined after the last. */
  next: () => Promise<string | undefined>
  stallMs: number
}

export const linesType = 'application/x-ndjson'

/** Streams lines of JSON as they come, at the pace at which they are read. */
export async function writeLines(response: ServerResponse, { headers, next, stallMs }: Lines): Promise<void> {
  if (response.destroyed) return
  // A proxy that collects an answer before it passes it on would defeat the stream.
  const own = { 'Content-Type': linesType, 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' }
  response.writeHead(200, withHeaders(headers, own))
  response.flushHeaders()
  for (let lines = await next(); lines !== undefined; lines = await next()) {
    if (response.destroyed) return
    if (!response.write(lines)) await drained(response, stallMs)
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
