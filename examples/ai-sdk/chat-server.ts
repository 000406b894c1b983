import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { bundlePage } from '../bundle-page.ts'
import { createChatRoutes } from './chat-routes.ts'

// Replaces Next.js in this example: bundles the page and dispatches requests to routes.

type ChatServerOptions = Parameters<typeof createChatRoutes>[0]

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>A chat</title>
    <link rel="icon" href="data:,">
  </head>
  <body>
    <div id="app"></div>
    <script type="module" src="/page.js"></script>
  </body>
</html>
`

export async function createChatServer(options: ChatServerOptions): Promise<Server> {
  const routes = createChatRoutes(options)
  const script = await (bundled ??= bundlePage(new URL('chat-page.tsx', import.meta.url)))
  const files: Record<string, () => Response> = {
    'GET /': () => new Response(page, { headers: { 'content-type': 'text/html; charset=utf-8' } }),
    'GET /page.js': () => new Response(script, { headers: { 'content-type': 'text/javascript' } }),
  }
  return createServer((incoming, response) => {
    const path = new URL(incoming.url ?? '/', 'http://localhost').pathname
    const route = files[`${incoming.method} ${path}`] ?? routes[`${incoming.method} ${path}`]
    const answer = async () => await (route ?? notFound)(toRequest(incoming))
    answer()
      .catch((error: unknown) => {
        if (error instanceof Response) return error
        console.error(error)
        return new Response('Something went wrong.', { status: 500 })
      })
      .then((answered) => send(response, answered))
      .catch((error: unknown) => console.error(error))
  })
}

let bundled: Promise<string> | undefined

function toRequest(incoming: IncomingMessage): Request {
  const { headers, method = 'GET', url = '/' } = incoming
  const body = method === 'POST' ? { body: Readable.toWeb(incoming) as ReadableStream, duplex: 'half' } : {}
  const { cookie = '', 'content-type': type = '' } = headers
  return new Request(new URL(url, 'http://localhost'), { method, headers: { cookie, 'content-type': type }, ...body })
}

async function send(response: ServerResponse, { body, headers, status }: Response): Promise<void> {
  response.writeHead(status, Object.fromEntries(headers))
  const reader = body?.getReader()
  // If the page disconnects, stop reading. The reply continues.
  response.once('close', () => void reader?.cancel().catch(() => {}))
  for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) response.write(read.value)
  response.end()
}

async function notFound(): Promise<Response> {
  return new Response('Not found', { status: 404 })
}
