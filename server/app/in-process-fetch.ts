import { Agent, request } from 'node:http'
import { Readable, type Duplex } from 'node:stream'
import type { ClientFetch } from '../../client/connection.ts'

/** Socket methods that `Agent` calls. An in-process stream can ignore them. */
const socketMethods = { ref() {}, setKeepAlive() {}, setNoDelay() {}, setTimeout() {}, unref() {} }

export function inProcessFetch(connect: () => Duplex): ClientFetch {
  const agent = new Agent({ keepAlive: true })
  agent.createConnection = () => Object.assign(connect(), socketMethods)
  return (url, { body, headers, method = 'GET', signal }) =>
    new Promise((resolve, reject) => {
      const { host, pathname, search } = new URL(url)
      const sent = request({
        agent,
        method,
        path: pathname + search,
        headers: { ...Object.fromEntries(new Headers(headers)), host },
        ...(signal && { signal }),
      })
      sent.on('error', reject)
      sent.on('response', (message) => {
        const { rawHeaders, statusCode: status = 500 } = message
        const list: [string, string][] = []
        for (let at = 0; at < rawHeaders.length; at += 2) list.push([rawHeaders[at]!, rawHeaders[at + 1]!])
        const hasBody = method !== 'HEAD' && status !== 204 && status !== 304
        if (!hasBody) message.resume()
        resolve(new Response(hasBody ? (Readable.toWeb(message) as ReadableStream) : null, { status, headers: list }))
      })
      sent.end(body as string | undefined)
    })
}
