import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { must } from '../../kernel/assert.ts'
import type { RoutedRequest } from '../routed-request.ts'
import { escapeAttribute } from './brand.ts'
import { compressedAsset, sendAsset, type StaticAsset } from './static-asset.ts'

// Serves the API reference: Swagger UI and the OpenAPI document. Both are local files, so the reference works offline.

export const documentFile = fileURLToPath(new URL('../../../openapi/openapi.json', import.meta.url))

/** `name` is the name of the service. */
type DocsParts = { basePath: string; name: string }

const pageOf = ({ basePath, name }: DocsParts) => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>${escapeAttribute(name)} API reference</title>
    <link rel="stylesheet" href="${basePath}/docs/swagger-ui.css" />
    <link rel="stylesheet" href="${basePath}/docs/errand.css" />
    <link rel="icon" type="image/png" href="${basePath}/docs/favicon-32x32.png" sizes="32x32" />
  </head>
  <body>
    <a class="back" href="${basePath}/">${escapeAttribute(name)} console</a>
    <div id="swagger-ui"></div>
    <script src="${basePath}/docs/swagger-ui-bundle.js"></script>
    <script src="${basePath}/docs/start.js"></script>
  </body>
</html>
`
// With a `validatorUrl`, Swagger UI would send the document to an external service.
const scriptOf = (basePath: string) =>
  `SwaggerUIBundle({ url: '${basePath}/openapi.json', dom_id: '#swagger-ui', deepLinking: true, persistAuthorization: false, validatorUrl: null })\n`

// Swagger UI has no dark colors, so invert its light ones and rotate the hues back. Code is dark already.
const style = `.back { display: block; padding: 16px 20px 0; font: 14px sans-serif; color: #1c5fb8 }
@media (prefers-color-scheme: dark) {
  body { background: #1a1a1a }
  .back { color: #8ab8f5 }
  #swagger-ui { filter: invert(0.9) hue-rotate(180deg) }
  #swagger-ui :is(.microlight, .highlight-code) { filter: invert(1) hue-rotate(180deg) }
  #swagger-ui .highlight-code .microlight { filter: none }
}
`

const script = 'text/javascript; charset=utf-8'
const html = 'text/html; charset=utf-8'

/** In the document, the server is the root of the host, so add the base path. */
async function readDocument(basePath: string): Promise<Buffer> {
  const text = await readFile(documentFile, 'utf8')
  return Buffer.from(basePath === '' ? text : text.replace('"url": "/"', `"url": ${JSON.stringify(basePath)}`))
}

type Source = { type: string; read: () => Promise<Buffer> }

const inFolder = (name: string) => () => readFile(new URL(`../../../openapi/swagger-ui/${name}`, import.meta.url))
const written = (text: string) => () => Promise.resolve(Buffer.from(text))

const sourcesOf = ({ basePath, name }: DocsParts) =>
  new Map<string, Source>([
    ['/openapi.json', { type: 'application/json; charset=utf-8', read: () => readDocument(basePath) }],
    ['/docs', { type: html, read: written(pageOf({ basePath, name })) }],
    ['/docs/', { type: html, read: written(pageOf({ basePath, name })) }],
    ['/docs/start.js', { type: script, read: written(scriptOf(basePath)) }],
    ['/docs/errand.css', { type: 'text/css; charset=utf-8', read: written(style) }],
    ['/docs/swagger-ui.css', { type: 'text/css; charset=utf-8', read: inFolder('swagger-ui.css') }],
    ['/docs/swagger-ui-bundle.js', { type: script, read: inFolder('swagger-ui-bundle.js') }],
    ['/docs/favicon-32x32.png', { type: 'image/png', read: inFolder('favicon-32x32.png') }],
  ])

// Swagger UI needs inline styles, and data URLs for its icons.
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** Each file is read and compressed on its first request. */
export function openDocs(parts: DocsParts): {
  paths: readonly string[]
  serve: (routed: RoutedRequest) => Promise<void>
} {
  const sources = sourcesOf(parts)
  const assets = new Map<string, Promise<StaticAsset>>()
  const serve = async (routed: RoutedRequest) => {
    const { path } = routed
    let reading = assets.get(path)
    if (!reading) {
      const source = must(sources.get(path), 'the router passes only docs paths')
      reading = source.read().then((body) => compressedAsset(source.type, body))
      assets.set(path, reading)
      // Do not cache failures, because the file may be readable next time.
      reading.catch(() => assets.delete(path))
    }
    sendAsset(routed, await reading, {
      'Content-Security-Policy': contentSecurityPolicy,
      'Referrer-Policy': 'no-referrer',
      // Make browsers revalidate every file, so that files from two releases are never mixed.
      'Cache-Control': 'no-cache',
    })
  }
  return { paths: [...sources.keys()], serve }
}
