import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { ErrandError } from '../kernel/errors.ts'
import { respondError } from './respond.ts'

// The API reference: Swagger UI from the installed package and the committed document, so it works without a network.

export const documentFile = fileURLToPath(new URL('../../openapi/openapi.json', import.meta.url))

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Errand API reference</title>
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png" sizes="32x32" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`
const startScript = `SwaggerUIBundle({ url: '/openapi.json', dom_id: '#swagger-ui', deepLinking: true, persistAuthorization: false })\n`

const assetTypes: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
}

// Swagger UI sets style attributes and draws its icons from data addresses.
const pageHeaders = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
}

export async function serveDocument(response: ServerResponse): Promise<void> {
  send(response, 'application/json; charset=utf-8', await readFile(documentFile))
}

/** `path` is `/docs` or below. */
export async function serveDocs(response: ServerResponse, path: string): Promise<void> {
  if (path === '/docs' || path === '/docs/') return send(response, 'text/html; charset=utf-8', page)
  const name = path.slice('/docs/'.length)
  if (name === 'start.js') return send(response, 'text/javascript; charset=utf-8', startScript)
  const type = Object.hasOwn(assetTypes, name) ? assetTypes[name] : undefined
  if (type === undefined) return respondError(response, new ErrandError('NOT_FOUND', 'There is nothing at this path.'))
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  send(response, type, await readFile(join(folder, name)))
}

function send(response: ServerResponse, type: string, body: string | Buffer): void {
  response.writeHead(200, { ...pageHeaders, 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}
