import type { ExportParts } from '../account/export-account.ts'
import type { Authenticator } from '../auth/authenticate.ts'
import { oidcPaths } from '../auth/logins/oidc-login.ts'
import { callbackPath } from '../connectors/sign-in/connector-sign-in.ts'
import { ErrandError } from '../kernel/errors.ts'
import { restForm } from '../http/answer-forms.ts'
import { exportRoutes } from './rest/export-routes.ts'
import { openaiRoutes } from './openai/openai-routes.ts'
import { wireForm } from './openai/wire-error.ts'
import { filePaths, pagePaths, type ConsoleFiles } from '../http/files/console-files.ts'
import { mailPreviewPath } from '../http/files/mail-preview.ts'
import { requireAdmin } from '../procedures/caller.ts'
import { openDocs } from '../http/files/docs-pages.ts'
import { eventBytesMax, eventsPath } from '../payments/receive-events.ts'
import { mcpRoute, type McpParts } from './mcp/mcp-route.ts'
import type { OpenaiParts } from './openai/openai-parts.ts'
import type { AppRouter } from './root-router.ts'
import type { ErrorParts } from '../http/request-pipeline.ts'
import { withHeaders } from '../http/respond.ts'
import { read, restRoutes, streamRoutes } from './rest/rest-routes.ts'
import { rpcRoutes } from './rpc/rpc-routes.ts'
import { RouteTable, type Route } from '../http/route-table.ts'

type Handler = Route['handle']

export type RouteParts = ErrorParts & {
  /** URL path of the service. Empty at the root. */
  basePath: string
  /** Name of the service. */
  name: string
  authenticate: Authenticator
  console: ConsoleFiles
  metrics: Handler
  router: AppRouter
  exports: ExportParts
  mcp: McpParts
  openai: OpenaiParts
  oidc: Handler
  payload: Handler
  mailPreview: Handler
  signInCallback: Handler
  paymentEvent: Handler
  /** Whether to serve only the routes used by the operator's monitoring. */
  isWorker: boolean
  /** A stream closes if its client reads nothing for this long. */
  stallMs: number
  /** Returns why requests should go to another node, or null if this node can take them. */
  whyNotReady: () => Promise<string | null>
}

export function createRoutes(parts: RouteParts): RouteTable {
  const ok = { status: 'ok' }
  const operator = [
    open('/healthz', 'page', () => ok),
    open('/readyz', 'page', async () => {
      const reason = await parts.whyNotReady()
      if (reason === null) return ok
      throw new ErrandError('SERVICE_UNAVAILABLE', reason, { retryAfterSeconds: 5 })
    }),
    open('/metrics', 'page', parts.metrics),
  ]
  if (parts.isWorker) {
    const elsewhere = 'This node only runs tasks. Send requests to a node that serves the API.'
    return new RouteTable([...operator, nothing('/*', elsewhere)])
  }
  const docs = openDocs(parts)
  const pages = pagePaths.map((path) =>
    open(path, 'console', path === '/login' ? serveLogin(parts) : parts.console.servePage),
  )
  const isPage = (path: string) => pages.some(({ handle }) => handle === table.match('GET', path)?.route?.handle)
  const table = new RouteTable([
    ...restRoutes(parts.router),
    ...streamRoutes(parts.router, parts.stallMs),
    ...openaiRoutes(parts.openai),
    { ...nothing('/v1/*'), isGated: true, operation: 'other', form: wireForm },
    ...rpcRoutes(parts),
    mcpRoute(parts.mcp),
    ...exportRoutes(parts.exports, parts.stallMs),
    // A link without an id gets the same response as any invalid link.
    ...['/api/payloads/{}', '/api/payloads/'].map((path) => open(path, 'payload', parts.payload)),
    {
      ...open(eventsPath, 'paymentEvent', parts.paymentEvent),
      methods: ['POST'],
      body: 'text',
      strangerBytesMax: eventBytesMax,
    },
    ...oidcPaths.map((path) => ({ ...open(path, 'oidc', parts.oidc), methods: ['GET'] })),
    { ...open(callbackPath, 'signInCallback', parts.signInCallback), methods: ['GET'] },
    ...operator,
    ...docs.paths.map((path) => open(path, 'page', docs.serve)),
    { ...open(mailPreviewPath, 'page', parts.mailPreview), methods: ['GET'], auth: requireAdmin },
    ...pages,
    ...filePaths.map((path) => open(path, 'console', parts.console.serveFile)),
    { ...nothing('/api/*'), isGated: true, operation: 'other' },
    {
      ...nothing('/*'),
      async handle(routed, body) {
        if (!(await parts.console.serveUnknown(routed, isPage))) return nothing('/*').handle(routed, body)
        parts.onRefused('NOT_FOUND')
      },
    },
  ])
  return table
}

/**
 * Serves the login page. Redirects logged-in users to the overview, unless the URL has a query with a single sign-on
 * error or the page to return to.
 */
function serveLogin({ authenticate, basePath, console }: RouteParts): Handler {
  return async (routed) => {
    const { headers, query, request, response } = routed
    if (query !== '' || !(await authenticate(request).catch(() => null))) return await console.servePage(routed)
    response.writeHead(303, withHeaders(headers, { Location: `${basePath}/`, 'Cache-Control': 'no-store' })).end()
  }
}

/** Creates a public read-only route that the service serves even when it is busy. */
function open(path: string, operation: string, handle: Handler): Route {
  return { methods: read, path, operation, auth: null, form: restForm, handle }
}

function nothing(path: string, message = 'This path does not exist. Check the URL.'): Route {
  const handle = () => {
    throw new ErrandError('NOT_FOUND', message)
  }
  return { ...open(path, 'page', handle), methods: null }
}
