import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { dirname, join } from 'node:path'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { ErrandError } from '../kernel/errors.ts'
import type { HeaderList } from './respond.ts'

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
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

export async function serveDocument(response: ServerResponse, headers: HeaderList): Promise<void> {
  send(response, { type: 'application/json; charset=utf-8', body: await readFile(documentFile), headers })
}

/** `path` is `/docs` or below. */
export async function serveDocs(
  response: ServerResponse,
  { path, headers }: { path: string; headers: HeaderList },
): Promise<void> {
  if (path === '/docs' || path === '/docs/') {
    return send(response, { type: 'text/html; charset=utf-8', body: page, headers })
  }
  const name = path.slice('/docs/'.length)
  if (name === 'start.js') return send(response, { type: 'text/javascript; charset=utf-8', body: startScript, headers })
  const type = Object.hasOwn(assetTypes, name) ? assetTypes[name] : undefined
  if (type === undefined) throw new ErrandError('NOT_FOUND', 'There is nothing at this path.')
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'))
  send(response, { type, body: await readFile(join(folder, name)), headers })
}

type Page = { type: string; body: string | Buffer; headers: HeaderList }

function send(response: ServerResponse, { type, body, headers }: Page): void {
  response.writeHead(200, [
    ...headers,
    'Content-Security-Policy',
    contentSecurityPolicy,
    'X-Content-Type-Options',
    'nosniff',
    'Referrer-Policy',
    'no-referrer',
    'Content-Type',
    type,
    'Content-Length',
    String(Buffer.byteLength(body)),
  ])
  response.end(body)
}
