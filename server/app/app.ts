import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { dirname } from 'node:path'
import type { ToolTokens } from '../agents/model/tool-tokens.ts'
import type { ErrandConfig } from '../agents/config/define-config.ts'
import { createSystem } from '../admin/system-state.ts'
import { assertNewcomerPlan, type SignUpSettings } from '../auth/invitations/sign-up-settings.ts'
import { createAuthenticator } from '../auth/authenticate.ts'
import { lastKeyUses, lastLoginUses, lastPlatformUses, type LastUses } from '../auth/last-uses.ts'
import { createSignInCallback } from '../auth/logins/sign-in-callback.ts'
import { createOidcLogin } from '../auth/logins/oidc-login.ts'
import type { Limits, Role } from './config.ts'
import { createAgentHost } from './create-agent-host.ts'
import { createServices, type Services } from './create-services.ts'
import { createWork } from './create-work.ts'
import { ConnectorAccess } from '../connectors/connector-access.ts'
import { SecretVault, type Secrets } from '../kernel/secret-vault.ts'
import { createSignIns } from '../connectors/sign-in/connector-sign-in.ts'
import { basePathOf } from '../http/base-path.ts'
import { defaultName, type Brand } from '../http/files/brand.ts'
import { openConsoleFiles } from '../http/files/console-files.ts'
import { BodyRoom } from '../http/limits/body-room.ts'
import { connectionCount } from '../http/limits/connection-limits.ts'
import { createListener } from '../http/listener.ts'
import { closeServer, listen, urlOf } from '../http/listening.ts'
import { servePayload } from '../http/files/payload-download.ts'
import { createMailPreview } from '../http/files/mail-preview.ts'
import { createMetricsPage } from '../http/files/metrics-page.ts'
import { releaseRequest } from '../http/limits/release-request.ts'
import { RequestGate, requestTurn } from '../http/limits/request-gate.ts'
import { createRequestEnds } from '../http/request-ends.ts'
import { createRoutes } from '../edge/service-routes.ts'
import type { Clock } from '../kernel/clock.ts'
import { ErrandError, errorBody, type ErrorCode } from '../kernel/errors.ts'
import type { Logger } from '../kernel/logger.ts'
import { createRootRouter } from '../edge/root-router.ts'
import { ServiceMetrics } from '../admin/metrics/service-metrics.ts'
import type { PayloadBucket } from '../payloads/payload-bucket.ts'
import { SignedLinks } from '../payloads/signed-links.ts'
import type { Reloaded } from './reloaded.ts'
import { announceRetention, createReload, readCatalogue, warnOfPlans } from './load-catalogue.ts'
import { openMails } from './open-mails.ts'
import type { MailSettings } from '../mails/mail-settings.ts'
import { openPayloads } from './open-payloads.ts'
import { openServiceStore } from './open-service-store.ts'
import { AutoRecharge } from '../payments/auto-recharge.ts'
import { openPayments } from '../payments/open-payments.ts'
import type { PaymentSettings } from '../payments/payment-settings.ts'
import { receiveEvent } from '../payments/receive-events.ts'
import { Quotes } from '../billing/quotes.ts'
import type { LedgerReport } from '../store/ledger/ledger-report.ts'
import type { Store } from '../store/store.ts'
import { ServiceTracing } from '../kernel/tracing/service-tracing.ts'
import { startUpkeep } from './upkeep.ts'

export type AppOptions = {
  config: ErrandConfig
  /** Configuration file, which each agent thread loads itself. Null runs the agents of `config` in this thread. */
  configFile: string | null
  dataDir: string
  /** PostgreSQL URL. Undefined to use a SQLite file in the data directory. */
  databaseUrl?: string | undefined
  payloadBucket?: PayloadBucket | undefined
  /** Role of this node if nodes share a database: serve requests, run tasks, or both. */
  role?: Role
  /** Listening address. Null if another server passes requests to `handler`, which requires a `baseUrl`. */
  listens: { host: string; port: number } | null
  /** URL at which clients reach the service. Null to use the listening address. */
  baseUrl: string | null
  payments?: PaymentSettings | undefined
  mail?: MailSettings | undefined
  /** If omitted, the console shows Errand's name and icon. */
  brand?: Brand | undefined
  /** If omitted, visitors cannot sign up, and new accounts get no plan and no credit. */
  signUp?: SignUpSettings | undefined
  /**
   * Returns the service's secrets. Called again when stored data was encrypted with an unknown secret, because a
   * command may have rotated the secrets.
   */
  secrets: () => Secrets
  connectorPrivateHosts: readonly string[]
  webhookPrivateHosts: readonly string[]
  /** Token for reading /metrics. Null restricts /metrics to this machine. */
  metricsToken: string | null
  trustedProxies: readonly string[]
  commandPath: string
  limits: Limits
  log: Logger
  consoleFolder?: string
  /** Called once if the store can no longer tell what is on disk. The process must then exit. */
  onFatal: (cause: unknown) => void
  /** Replaces the clock in tests. `notBefore` is the newest time in the store. */
  createClock?: (notBefore: number) => Clock
}

export type App = {
  store: Store
  services: Services
  /** Listening URL, such as `http://127.0.0.1:3000`, or the base URL if the service does not listen. */
  url: string
  baseUrl: string
  handler: (request: IncomingMessage, response: ServerResponse) => void
  reload(): Promise<Reloaded>
  /** Accepts no new work, lets runs finish within the drain time, then closes everything. */
  stop(): Promise<void>
  /** Makes a `stop` in progress interrupt the remaining runs immediately. */
  hasten(): void
}

/** Throws if the data directory, the port or a setting is invalid. */
export async function startApp(options: AppOptions): Promise<App> {
  const { limits, log } = options
  const closers: (() => unknown)[] = []
  const close = async () => {
    for (const closePart of closers.toReversed()) await closePart()
  }
  try {
    const folder = options.configFile === null ? process.cwd() : dirname(options.configFile)
    const toolTokens: ToolTokens = new WeakMap()
    const catalogue = await readCatalogue(options.config, { folder, log, toolTokens })
    const tracing = ServiceTracing.open()
    closers.push(() => tracing?.flush())
    const metrics = new ServiceMetrics(catalogue.agents.map(({ id }) => id))
    const gate = new RequestGate(limits)
    closers.push(() => gate.close())
    announceRetention(catalogue, { limits, log })
    if (options.signUp) assertNewcomerPlan(options.signUp, catalogue)
    // Use getters, so that the store always reads the latest configuration.
    const ofStore = Object.defineProperties(
      { ...limits },
      { plans: { get: () => catalogue.plans }, retention: { get: () => catalogue.retention } },
    )
    const { clock, store } = await openServiceStore({ ...options, limits: ofStore }, (commit) => {
      metrics.committed(commit)
      tracing?.committed(commit)
      gate.synced(commit.syncMs)
    })
    closers.push(() => store.close())
    await warnOfPlans(store, catalogue, log)
    const payloads = await openPayloads(options, store, clock)
    closers.push(() => payloads.close())
    const vault = new SecretVault(options.secrets)
    const { commandPath, connectorPrivateHosts: privateHosts } = options
    const signIns = createSignIns({ clock, privateHosts, store, vault })
    const { tokens } = signIns
    const agents = createAgentHost(options, { catalogue, renewToken: (of) => tokens.renew(of) })
    closers.push(() => agents.close())
    const access = new ConnectorAccess({
      commandPath,
      privateHosts,
      servers: () => catalogue.connectorServers,
      store,
      tokens,
      vault,
    })
    const quotes = new Quotes({ clock, read: options.secrets })
    const running = { access, agents, catalogue, clock, log, payloads, quotes, store, tracing, vault }
    // Unknown until the server listens. Only requests read it, and they arrive later.
    let listensOn = ''
    const baseUrl = () => options.baseUrl ?? listensOn
    const { current: secret } = options.secrets()
    const links = new SignedLinks({ secret, baseUrl, clock, lifeSeconds: limits.signedUrlSeconds })
    const work = createWork({ ...running, links, meter: metrics, toolTokens }, options)
    const { chats, dispatcher, ends, keeper, runner, stops } = work
    const mails = await openMails(options.mail, { baseUrl, brand: options.brand, clock, log, store, vault })
    closers.push(() => mails?.stop())
    const port = await openPayments(options.payments)
    const system = createSystem({ agents, clock, lastDay: metrics.lastDay, runner })
    closers.push(() => system.loopDelay.close())
    const services = createServices(options, { ...running, baseUrl, links, mails, port, signIns, system, work })
    const recharge = new AutoRecharge(services.payments)
    closers.push(() => recharge.stop())
    const keyUses = lastKeyUses(store, log)
    closers.push(() => keyUses.close())
    const loginUses = lastLoginUses(store, log)
    closers.push(() => loginUses.close())
    const platformUses = lastPlatformUses(store, log)
    closers.push(() => platformUses.close())
    const server = createServer({ options, services, keyUses, loginUses, platformUses, gate, metrics })
    closers.push(() => closeServer(server))
    metrics.observe({ chats, connections: () => connectionCount(server), gate, runner, store, system })

    if (!store.shared) {
      await closeAbandonedTurns(store, log)
      await store.requests.leaveAll()
    }
    if (options.listens) await listen(server, options.listens)
    listensOn = options.listens ? urlOf(server) : baseUrl()
    await runner.start()
    keeper?.start()
    dispatcher.start()
    closers.push(() => dispatcher.stop())
    stops.start()
    if (options.role !== 'worker') {
      recharge.start()
      mails?.start()
    }
    closers.push(() => stops.close())
    closers.push(() => keeper?.stop())
    const onLedgerReport = (report: LedgerReport) => (system.ledger = { report, checkedAt: clock.now() })
    const onQueued = (count: number) => metrics.lastDay.queued(count)
    const upkeep = startUpkeep({ store, payloads, log, onLedgerReport, onQueued })
    closers.push(() => upkeep.stop())
    return {
      store,
      services,
      url: listensOn,
      baseUrl: baseUrl(),
      handler: (request, response) => passOn(server, request, response),
      reload: createReload({ ...options, agents, catalogue, folder, store, toolTokens }),
      hasten: () => {
        runner.interrupt()
        chats.interrupt()
      },
      stop: async () => {
        const drained = Promise.all([runner.drain(), chats.drain()])
        ends.close()
        await drained
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Passes a request from another server to ours. The request body must not have been read yet. */
function passOn(server: Server, request: IncomingMessage, response: ServerResponse): void {
  if (!request.readableDidRead) return void server.emit('request', request, response)
  const message = "Another handler already read the request body. Mount Errand's handler before any body parser."
  const body = JSON.stringify(errorBody(new ErrandError('INTERNAL_ERROR', message)))
  response.writeHead(500, { 'Content-Type': 'application/json; charset=utf-8' }).end(body)
}

/** Closes the chats that the previous process left open. The user is not charged for them. */
async function closeAbandonedTurns(store: Store, log: Logger): Promise<void> {
  let turns = 0
  for (let closed = -1; closed !== 0; turns += closed) closed = await store.closeAbandonedTurns()
  if (turns > 0) log.info({ turns }, 'closed interrupted turns without a charge')
}

type ServerParts = {
  options: AppOptions
  services: Services
  keyUses: LastUses
  loginUses: LastUses
  platformUses: LastUses
  gate: RequestGate
  metrics: ServiceMetrics
}

function createServer({ options, services, gate, metrics, ...uses }: ServerParts): Server {
  const { limits, log } = options
  const { catalogue, chats, clock, people, sessions, store, tasks, tracing, writeRate } = services
  const router = createRootRouter(services)
  const { clients, cookie, origins } = people.logins
  const flows = new SecretVault(options.secrets, 'errand: single sign-on')
  const authenticate = createAuthenticator({ store, clock, clients, cookie, origins, ...uses })
  const whyNotReady = async () => {
    if (!tasks.runner.isAccepting) return 'The service is stopping.'
    return (await store.canWrite()) ? null : 'The database is not writable.'
  }
  const stallMs = limits.writeStallSeconds * 1000
  const onRefused = (code: ErrorCode) => metrics.refused(code)
  const basePath = basePathOf(options.baseUrl)
  const routes = createRoutes({
    basePath,
    name: options.brand?.name ?? defaultName,
    authenticate,
    console: openConsoleFiles({ basePath, brand: options.brand, folder: options.consoleFolder }),
    metrics: createMetricsPage({
      contentType: metrics.contentType,
      read: () => metrics.read(),
      token: options.metricsToken,
      baseUrl: options.baseUrl,
    }),
    oidc: createOidcLogin({ ...people, vault: flows }),
    router,
    mcp: { catalogue, log, onRefused, returnMs: limits.mcpReturnSeconds * 1000, router, stallMs, tasks },
    openai: { catalogue, chats, clock, sessions, stallMs, store },
    signInCallback: createSignInCallback({ authenticate, log, origins, signIns: services.connectors.signIns }),
    mailPreview: createMailPreview(people.mails),
    payload: (routed) => servePayload(tasks, routed),
    exports: tasks,
    paymentEvent: ({ request }, body) => receiveEvent(services.payments, { request, body: body as string }),
    onRefused,
    log,
    isWorker: options.role === 'worker',
    stallMs,
    whyNotReady,
  })
  return createListener({
    basePath,
    routes,
    shared: { clock, release: releaseRequest, store, turn: requestTurn, writeRate },
    tracing,
    hasBacklog: () => store.hasBacklog(),
    authenticate,
    addressOf: (request) => clients.addressOf(request),
    bodies: new BodyRoom(limits.maxBodyBytes),
    gate,
    ends: createRequestEnds({ count: (request) => metrics.requestEnded(request), log, tracing }),
    onRefused,
    connectionsMax: limits.maxConnections,
    stallMs,
    log,
  })
}
