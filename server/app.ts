import type { AddressInfo } from 'node:net'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { chatMethods, chatPath, createChatAdapter } from '../openapi/chat-adapter.ts'
import { createRestAdapter } from '../openapi/rest-adapter.ts'
import { RestRoutes } from '../openapi/rest-routes.ts'
import type { AgentHost, AgentLogLine } from './agents/agent-port.ts'
import { Catalogue } from './agents/catalogue.ts'
import type { ErrandConfig } from './agents/define-config.ts'
import { createInlineHost } from './agents/inline-host.ts'
import { ThreadHost } from './agents/thread-host.ts'
import { createAuthenticator } from './auth/authenticate.ts'
import { KeyUses } from './auth/key-uses.ts'
import { ChatTurns } from './chat/chat-turns.ts'
import { agentEnvironment, type Limits } from './config.ts'
import { ConnectorAccess } from './connectors/connector-access.ts'
import { ConnectorChecks } from './connectors/connector-checks.ts'
import { SecretVault, type Secrets } from './connectors/secret-vault.ts'
import { readIdempotencyKey } from './http/idempotency-header.ts'
import { closeUnusedConnections, createListener } from './http/listener.ts'
import { servePayload } from './http/payload-download.ts'
import { readBodyText } from './http/read-body.ts'
import { SystemClock, type Clock } from './kernel/clock.ts'
import type { ErrandError } from './kernel/errors.ts'
import type { Logger } from './kernel/logger.ts'
import { FilePayloadStore } from './payloads/payload-store.ts'
import { SignedLinks } from './payloads/signed-links.ts'
import type { Services } from './rpc/context.ts'
import { createRpcHandler } from './rpc/rpc-handler.ts'
import { openSqliteStore } from './store/sqlite/sqlite-store.ts'
import type { Store } from './store/store.ts'
import { TaskEnds } from './tasks/task-ends.ts'
import { TaskRunner } from './tasks/task-runner.ts'
import { startUpkeep } from './upkeep.ts'

export type AppOptions = {
  config: ErrandConfig
  /** The file that `config` came from, which every agent thread loads; null runs agents inline. */
  configFile: string | null
  dataDir: string
  host: string
  port: number
  /** Where clients reach the service; null for the address that it listens on. */
  baseUrl: string | null
  /** Asked again when a secret is not known: a command may have put a new one in its place. */
  secrets: () => Secrets
  /** Hosts that users' connectors may reach though their addresses are private. */
  connectorPrivateHosts: readonly string[]
  /** Where the commands of the operator's MCP servers are looked up. */
  commandPath: string
  limits: Limits
  log: Logger
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

/** Constructs the whole service and starts it. Throws when the data directory, the port or a setting is unusable. */
export async function startApp(options: AppOptions): Promise<App> {
  const { dataDir, limits, log, onFatal } = options
  let clock: Clock = new SystemClock()
  const createClock = options.createClock ?? ((notBefore: number) => new SystemClock(notBefore))
  const catalogue = new Catalogue(options.config)
  const store = openSqliteStore({ dataDir, limits, onFatal, clock: (notBefore) => (clock = createClock(notBefore)) })
  const payloads = new FilePayloadStore(join(dataDir, 'payloads'), clock)
  let listensOn = ''
  const links = new SignedLinks({
    secret: options.secrets().current,
    baseUrl: () => options.baseUrl ?? listensOn,
    clock,
    lifeSeconds: limits.signedUrlSeconds,
  })
  const ends = new TaskEnds()
  const agents = createAgentHost(options, catalogue)
  const vault = new SecretVault(options.secrets)
  const { commandPath, connectorPrivateHosts: privateHosts } = options
  const access = new ConnectorAccess({ store, catalogue, vault, privateHosts, commandPath })
  const runner = new TaskRunner({
    access,
    agents,
    catalogue,
    clock,
    concurrency: limits.taskConcurrency,
    drainSeconds: limits.drainSeconds,
    ends,
    inlineBytes: limits.inlineBytes,
    log,
    payloads,
    store,
  })
  const chats = new ChatTurns({
    access,
    agents,
    assertAccepting: () => runner.assertAccepting(),
    catalogue,
    clock,
    drainSeconds: limits.drainSeconds,
    log,
    store,
    turnTimeoutMs: limits.turnTimeoutSeconds * 1000,
  })
  const services: Services = {
    catalogue,
    chats,
    clock,
    connectors: { access, catalogue, checks: new ConnectorChecks({ access, agents, store }), clock, store, vault },
    ends,
    inlineBytes: limits.inlineBytes,
    links,
    payloads,
    runner,
    store,
  }
  const keyUses = new KeyUses({ store, log })
  const server = createServer({ options, services, keyUses })
  const upkeep = startUpkeep({ store, payloads, log })
  const close = async () => {
    upkeep.stop()
    await closeServer(server)
    await agents.close()
    await keyUses.close()
    await store.close()
  }
  try {
    while ((await store.closeOpenTurns()) > 0);
    await listen(server, options)
    listensOn = urlOf(server)
    await runner.start()
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

function createServer({
  options,
  services,
  keyUses,
}: {
  options: AppOptions
  services: Services
  keyUses: KeyUses
}): Server {
  const { limits, log } = options
  const { clock, runner, store } = services
  const authenticate = createAuthenticator({ store, clock, keyUses })
  const onFault = (error: ErrandError) => log.error({ err: error.cause ?? error }, 'a request failed')
  const routes = new RestRoutes()
  const rpc = createRpcHandler({
    services,
    authenticate,
    readBody: (request, response) => readBodyText({ request, response, bytesMax: limits.maxBodyBytes }),
    stallMs: limits.writeStallSeconds * 1000,
    readIdempotencyKey,
    onFault,
  })
  const bodyBytesMax = limits.maxBodyBytes
  const rest = createRestAdapter({ services, routes, authenticate, bodyBytesMax, onFault })
  const stallMs = limits.writeStallSeconds * 1000
  const chat = createChatAdapter({ services, authenticate, bodyBytesMax, stallMs, onFault })
  return createListener({
    rest: (routed) => (routed.path === chatPath ? chat(routed) : rest(routed)),
    rpc,
    payload: (download) => servePayload(services, download),
    isReady: () => runner.isAccepting,
    methodsOf: (path) => (path === chatPath ? chatMethods : routes.methodsOf(path)),
    clock,
    log,
  })
}

function createAgentHost({ configFile, limits, log }: AppOptions, catalogue: Catalogue): AgentHost {
  const { agentThreads, agentThreadMemoryMb, maxResultBytes } = limits
  const onLog = ({ fields, message, runId }: AgentLogLine) => log.info({ ...fields, ...idField(runId) }, message)
  if (configFile === null) return createInlineHost({ catalogue, resultBytesMax: maxResultBytes, onLog })
  return new ThreadHost({
    configFile,
    threads: agentThreads,
    memoryMb: agentThreadMemoryMb,
    resultBytesMax: maxResultBytes,
    env: agentEnvironment(),
    onLog,
    onWarning: (message) => log.warn({}, message),
  })
}

function idField(runId: string): { taskId?: string; turnId?: string } {
  return runId.startsWith('turn_') ? { turnId: runId } : { taskId: runId }
}

async function listen(server: Server, { host, port }: AppOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, 1024, () => resolve())
  })
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeIdleConnections()
  closeUnusedConnections(server)
  // Answers under way get a moment; a client that reads no more must not keep the process alive.
  const timer = setTimeout(() => server.closeAllConnections(), 2000)
  const idleTimer = setInterval(() => server.closeIdleConnections(), 50)
  await closed
  clearInterval(idleTimer)
  clearTimeout(timer)
}
