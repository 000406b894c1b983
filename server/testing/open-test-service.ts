import { randomBytes } from 'node:crypto'
import { createClient } from '../../client/client.ts'
import { startApp, type App } from '../app/app.ts'
import { resolveCommandPath, resolveLimits } from '../app/config.ts'
import { draftKey } from '../auth/keys/manage-keys.ts'
import type { ErrandConfig } from '../agents/config/define-config.ts'
import type { Clock } from '../kernel/clock.ts'
import { parseUsd } from '../kernel/money.ts'
import { scopes } from '../store/access/key-types.ts'

/** Private hosts that a test may use for webhook receivers and MCP servers. */
const localHosts = ['127.0.0.1', '::1', 'localhost']

type TestService = { clock: Clock; config: ErrandConfig; dataDir: string }

export async function openTestService({ clock, config, dataDir }: TestService): Promise<App> {
  const secret = randomBytes(32).toString('base64url')
  return await startApp({
    config,
    configFile: null,
    dataDir,
    listens: { host: '127.0.0.1', port: 0 },
    baseUrl: null,
    secrets: () => ({ current: secret, previous: [] }),
    connectorPrivateHosts: [...localHosts, ...(config.connectors?.privateHosts ?? [])],
    webhookPrivateHosts: [...localHosts, ...(config.webhooks?.privateHosts ?? [])],
    metricsToken: null,
    trustedProxies: [],
    commandPath: resolveCommandPath(),
    // Tests and agents run in the service's thread. With the default `maxLoopDelayMs`, the service would mistake their
    // blocking for overload.
    limits: { ...resolveLimits(config.limits, {}), maxLoopDelayMs: 600_000 },
    log: { debug() {}, info() {}, warn() {}, error() {} },
    onFatal: (cause) => {
      throw cause
    },
    createClock: () => clock,
  })
}

export async function createTestUser({ store, url }: App, email: string, balanceUsd: string) {
  const amount = parseUsd(balanceUsd) ?? -1
  if (amount < 0) throw new Error(`balanceUsd: "${balanceUsd}" must be a USD amount, such as 5.00`)
  const created = await store.createUser({ email, passwordHash: null, isAdmin: false })
  if (created.outcome === 'refused')
    throw new Error(`a user with the email address ${email} already exists. Use a different address`)
  const { userId } = created
  if (amount > 0) await store.credit({ userId, amount, description: 'Test balance', idempotencyKey: null })
  const { key, token } = draftKey({ userId, name: 'Test', scopes: [...scopes], expiresAt: null })
  await store.createKey(key)
  return { userId, email, apiKey: token, client: createClient({ baseUrl: url, apiKey: token }) }
}
