import type { Server } from 'node:http'
import { chatMethods, chatPath, createChatAdapter } from '../openapi/chat-adapter.ts'
import { createRestAdapter } from '../openapi/rest-adapter.ts'
import { RestRoutes } from '../openapi/rest-routes.ts'
import { Catalogue } from './agents/catalogue.ts'
import type { ErrandConfig } from './agents/define-config.ts'
import { LoopDelay, type SystemParts } from './admin/system-state.ts'
import { createAuthenticator } from './auth/authenticate.ts'
import { ClientAddresses } from './auth/client-address.ts'
import { LastUses } from './auth/last-uses.ts'
import { loginCookieName, ServiceCookie } from './auth/login-cookie.ts'
import { createOidcLogin } from './auth/oidc-login.ts'
import { OwnOrigins } from './auth/own-origin.ts'
import { SpendDays } from './billing/spend-days.ts'
import { ChatTurns } from './chat/chat-turns.ts'
import type { Limits, Role } from './config.ts'
import { createAgentHost } from './create-agent-host.ts'
import { ConnectorAccess } from './connectors/connector-access.ts'
import { ConnectorChecks } from './connectors/connector-checks.ts'
import { assertSameSecret } from './connectors/secret-check.ts'
import { SecretVault, type Secrets } from './connectors/secret-vault.ts'
import { openConsoleFiles } from './http/console-files.ts'
import { readIdempotencyKey } from './http/idempotency-header.ts'
import { connectionCount } from './http/connection-limits.ts'
import { createListener } from './http/listener.ts'
import { closeServer, listen, urlOf } from './http/listening.ts'
import { servePayload } from './http/payload-download.ts'
import { createMetricsPage } from './http/metrics-page.ts'
import { publicBodyBytesMax, readBodyText } from './http/read-body.ts'
import { senderKnown } from './http/request-queue.ts'
import { RequestGate } from './http/request-gate.ts'
import { createRequestEnds, traceIdOf } from './http/request-ends.ts'
import type { RoutedRequest } from './http/routed-request.ts'
import { SystemClock, type Clock } from './kernel/clock.ts'
import { isFault, type ErrandError } from './kernel/errors.ts'
import type { Logger } from './kernel/logger.ts'
import type { Meter } from './kernel/meter.ts'
import { packageVersion } from './kernel/package-version.ts'
import { ServiceMetrics } from './metrics/service-metrics.ts'
import type { PayloadBucket } from './payloads/payload-bucket.ts'
import { SignedLinks } from './payloads/signed-links.ts'
import { openPayloads } from './open-payloads.ts'
import type { Services } from './rpc/context.ts'
import { createRpcHandler, rpcErrorJson } from './rpc/rpc-handler.ts'
import { WriteRate } from './rpc/write-rate.ts'
import type { Committed } from './store/committed.ts'
import type { PostgresStoreOptions } from './store/postgres/postgres-store.ts'
import { openSqliteStore } from './store/sqlite/sqlite-store.ts'
import type { Store, LedgerReport } from './store/store.ts'
import { TaskEnds } from './tasks/task-ends.ts'
import { TaskRunner } from './tasks/task-runner.ts'
import { ServiceTracing } from './tracing/service-tracing.ts'
import { LeaseKeeper } from './nodes/lease-keeper.ts'
import { startUpkeep } from './upkeep.ts'

export type AppOptions = {
  config: ErrandConfig
  /** The file that `config` came from, which every agent thread loads; null runs agents inline. */
  configFile: string | null
  dataDir: string
  /** Of a PostgreSQL database; without it the database is a file in the data directory. */
  databaseUrl?: string | undefined
  /** Of payloads; without it they are kept beside the database. */
  payloadBucket?: PayloadBucket | undefined
  /** What a node of a shared database does: take requests, run tasks, or both. */
  role?: Role
  host: string
  port: number
  /** Where clients reach the service; null for the address that it listens on. */
  baseUrl: string | null
  /** Asked again when a secret is not known: a command may have put a new one in its place. */
  secrets: () => Secrets
  /** Hosts that users' connectors may reach though their addresses are private. */
  connectorPrivateHosts: readonly string[]
  /** What a reader of /metrics has to send; null leaves them to this machine. */
  metricsToken: string | null
  /** Proxies whose X-Forwarded-For is believed. */
  trustedProxies: readonly string[]
  /** Where the commands of the operator's MCP servers are looked up. */
  commandPath: string
  limits: Limits
  log: Logger
  /** Where the built console is; the package's own when left out. */
  consoleFolder?: string
  /** Called once when the store can no longer tell what the disk holds; the process must end. */
  onFatal: (cause: unknown) => void
  /** For tests; `notBefore` is the newest time that the store holds. */
  createClock?: (notBefore: number) => Clock
}

export type App = {
  store: Store
  services: Services
  /** Where the server listens, for example `http://127.0.0.1:3000`. */
  url: string
  /** Takes no new work, lets what runs finish within the drain time, then closes everything. */
  stop(): Promise<void>
  /** Ends a running `stop` early: what still runs is interrupted. */
  hasten(): void
}

/** Loaded only where it is used: its drivers take a tenth of a start. */
async function openPostgres(options: PostgresStoreOptions, secrets: Secrets): Promise<Store> {
  const { openPostgresStore } = await import('./store/postgres/postgres-store.ts')
  const store = await openPostgresStore(options)
  try {
    if (store.settings) await assertSameSecret(store.settings, secrets)
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Constructs the whole service and starts it. Throws when the data directory, the port or a setting is unusable. */
export async function startApp(options: AppOptions): Promise<App> {
  const { dataDir, limits, log, onFatal } = options
  let clock: Clock = new SystemClock()
  const createClock = options.createClock ?? ((notBefore: number) => new SystemClock(notBefore))
  const catalogue = new Catalogue(options.config)
  const tracing = ServiceTracing.open()
  // Made last, and read only when somebody asks.
  let metrics: ServiceMetrics | undefined
  const gate = new RequestGate(limits)
  const meter: Meter = {
    taskTaken: (waitedSeconds) => metrics?.taskTaken(waitedSeconds),
    taskRun: (run) => metrics?.taskRun(run),
    tasksRecovered: (runs) => metrics?.tasksRecovered(runs),
    chatRun: (run) => metrics?.chatRun(run),
  }
  const onCommit = (commit: Committed) => {
    metrics?.committed({ ...commit, seconds: (performance.now() - commit.startedAt) / 1000 })
    tracing?.committed(commit)
    gate.synced(commit.syncMs)
  }
  const storeClock = (notBefore: number) => (clock = createClock(notBefore))
  const store =
    options.databaseUrl === undefined
      ? openSqliteStore({
          dataDir,
          limits,
          onFatal,
          onCommit,
          onWarning: (message) => log.warn({}, message),
          clock: storeClock,
        })
      : await openPostgres(
          {
            databaseUrl: options.databaseUrl,
            limits,
            onCommit,
            onWarning: (message) => log.warn({}, message),
            // All nodes go by the database's clock, which a test's own takes the place of.
            ...(options.createClock && { clock: storeClock }),
          },
          options.secrets(),
        )
  const payloads = await openPayloads(options, store, clock).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  let listensOn = ''
  const links = new SignedLinks({
    secret: options.secrets().current,
    baseUrl: () => options.baseUrl ?? listensOn,
    clock,
    lifeSeconds: limits.signedUrlSeconds,
  })
  const ends = new TaskEnds(store.shared?.signals)
  const agents = createAgentHost(options, catalogue)
  const vault = new SecretVault(options.secrets)
  const { commandPath, connectorPrivateHosts: privateHosts } = options
  const access = new ConnectorAccess({ store, catalogue, vault, privateHosts, commandPath })
  const runner = new TaskRunner({
    access,
    agents,
    catalogue,
    clock,
    concurrency: options.role === 'api' ? 0 : limits.taskConcurrency,
    drainSeconds: limits.drainSeconds,
    queuedMax: limits.maxQueuedTasks,
    ends,
    inlineBytes: limits.inlineBytes,
    log,
    meter,
    payloads,
    store,
    tracing,
  })
  const chats = new ChatTurns({
    access,
    agents,
    assertAccepting: () => runner.assertAccepting(),
    catalogue,
    clock,
    drainSeconds: limits.drainSeconds,
    log,
    meter,
    store,
    tracing,
    turnTimeoutMs: limits.turnTimeoutSeconds * 1000,
  })
  const origins = new OwnOrigins(() => options.baseUrl ?? listensOn)
  const system: SystemParts = {
    log,
    version: packageVersion,
    startedAt: clock.now(),
    loopDelay: new LoopDelay(),
    agentThreads: () => agents.threads(),
    isAccepting: () => runner.isAccepting,
    ledger: null,
  }
  const services: Services = {
    bodyBytesMax: limits.maxBodyBytes,
    catalogue,
    chats,
    clock,
    connectors: {
      access,
      catalogue,
      checks: new ConnectorChecks({ access, agents, clock, store, checksPerMinute: limits.connectorChecksPerMinute }),
      clock,
      store,
      vault,
    },
    ends,
    inlineBytes: limits.inlineBytes,
    links,
    logins: {
      clients: new ClientAddresses(options.trustedProxies),
      cookie: new ServiceCookie(loginCookieName, origins),
      origins,
      providers: catalogue.loginProviders,
    },
    payloads,
    runner,
    spendDays: new SpendDays(store),
    store,
    system,
    tracing,
    writeRate: new WriteRate({ clock, perMinute: limits.writesPerMinute }),
  }
  const keyUses = new LastUses({
    what: 'keys',
    write: (uses) => store.touchKeys(uses.map(({ at, id }) => ({ keyId: id, at }))),
    log,
  })
  const loginUses = new LastUses({
    what: 'logins',
    write: (uses) => store.touchLogins(uses.map(({ at, id }) => ({ loginId: id, at }))),
    log,
  })
  const connections = () => Promise.resolve(connectionCount(server))
  metrics = new ServiceMetrics({
    agentIds: catalogue.agents.map(({ id }) => id),
    connections,
    isAccepting: () => runner.isAccepting,
    ledger: () =>
      system.ledger && {
        differences: system.ledger.report.differences.length,
        checkedAtSeconds: system.ledger.checkedAt / 1000,
      },
    store,
    loopDelay: system.loopDelay,
    agentThreads: () => agents.threads(),
    running: () => ({ tasks: runner.runningCount, chats: chats.runningCount, waitingChats: chats.waitingCount }),
    inFlight: () => gate.inFlight,
    version: packageVersion,
  })
  const server = createServer({ options, services, keyUses, loginUses, gate, metrics })
  const onLedgerReport = (report: LedgerReport) => (system.ledger = { report, checkedAt: clock.now() })
  const upkeep = startUpkeep({ store, payloads, log, onLedgerReport })
  const keeper =
    store.shared &&
    new LeaseKeeper({
      store,
      shared: store.shared,
      runner,
      chats,
      leaseSeconds: limits.leaseSeconds,
      queuedMax: limits.maxQueuedTasks,
      log,
    })
  const close = async () => {
    upkeep.stop()
    await keeper?.stop()
    await closeServer(server)
    await agents.close()
    gate.close()
    system.loopDelay.close()
    await keyUses.close()
    await loginUses.close()
    await payloads.close()
    await store.close()
    await tracing?.flush()
  }
  try {
    if (!store.shared) await closeAbandonedTurns(store, log)
    await listen(server, options)
    listensOn = urlOf(server)
    await runner.start()
    keeper?.start()
  } catch (error) {
    await close()
    throw error
  }
  return {
    store,
    services,
    url: listensOn,
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
}

/** Chats that the process before this one left open; nothing is charged for them. */
async function closeAbandonedTurns(store: Store, log: Logger): Promise<void> {
  let turns = 0
  for (let closed = -1; closed !== 0; turns += closed) closed = await store.closeAbandonedTurns()
  if (turns > 0) log.info({ turns }, 'chats that were interrupted have been closed without a charge')
}

type ServerParts = {
  options: AppOptions
  services: Services
  keyUses: LastUses
  loginUses: LastUses
  gate: RequestGate
  metrics: ServiceMetrics
}

function createServer({ options, services, keyUses, loginUses, gate, metrics }: ServerParts): Server {
  const { limits, log } = options
  const { clock, logins, runner, store } = services
  const { cookie, origins } = logins
  const flows = new SecretVault(options.secrets, 'errand: single sign-on')
  const authenticate = createAuthenticator({ store, clock, keyUses, loginUses, cookie, origins, onCaller: senderKnown })
  const onError = (error: ErrandError, { about, operation }: Pick<RoutedRequest, 'about' | 'operation'>) => {
    metrics.refused(error.code)
    if (isFault(error)) {
      const { requestId, userId } = about
      const fields = { requestId, userId, ...traceIdOf(about), operation, err: error.cause ?? error }
      log.error(fields, 'a request failed')
    }
  }
  const whyNotReady = async () => {
    if (!runner.isAccepting) return 'The service is stopping.'
    return (await store.canWrite()) ? null : 'The database cannot be written.'
  }
  const routes = new RestRoutes()
  const bodyBytesMax = limits.maxBodyBytes
  const rpc = createRpcHandler({
    services,
    authenticate,
    readBody: ({ isPublic, ...read }) =>
      readBodyText({ ...read, bytesMax: isPublic ? Math.min(publicBodyBytesMax, bodyBytesMax) : bodyBytesMax }),
    stallMs: limits.writeStallSeconds * 1000,
    readIdempotencyKey,
    onError,
  })
  const rest = createRestAdapter({ services, routes, authenticate, bodyBytesMax, onError })
  const stallMs = limits.writeStallSeconds * 1000
  const chat = createChatAdapter({ services, authenticate, bodyBytesMax, stallMs, onError })
  return createListener({
    rest: (routed) => (routed.path === chatPath ? chat(routed) : rest(routed)),
    rpc,
    rpcErrorJson,
    payload: (download) => servePayload(services, download),
    console: openConsoleFiles(options.consoleFolder),
    oidc: createOidcLogin({ store, clock, log, logins, vault: flows }),
    gate,
    metrics: createMetricsPage({
      contentType: metrics.contentType,
      read: () => metrics.read(),
      token: options.metricsToken,
      baseUrl: options.baseUrl,
    }),
    ends: createRequestEnds({ count: (request) => metrics.requestEnded(request), log, tracing: services.tracing }),
    onRefused: (code) => metrics.refused(code),
    connectionsMax: limits.maxConnections,
    isWorker: options.role === 'worker',
    stallMs,
    whyNotReady,
    methodsOf: (path) => (path === chatPath ? chatMethods : routes.methodsOf(path)),
    clock,
    log,
    tracing: services.tracing,
  })
}
