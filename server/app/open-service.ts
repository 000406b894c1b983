import { loadConfigFile } from '../agents/config/load-config-file.ts'
import type { ErrandConfig } from '../agents/config/define-config.ts'
import type { Logger } from '../kernel/logger.ts'
import { startApp, type App, type AppOptions } from './app.ts'
import {
  type Role,
  resolveCommandPath,
  resolveDatabaseUrl,
  resolveLimits,
  resolveLogin,
  resolveMail,
  resolveMetricsToken,
  resolvePayloadBucket,
  resolvePayments,
  resolvePrivateHosts,
  resolveSecrets,
  resolveSignUp,
  resolveTrustedProxies,
} from './config.ts'
import { resolveBrand } from './resolve-brand.ts'
import { describeFewFiles } from './open-files.ts'
import { describeUnknown, unknownVariables } from './unknown-variables.ts'

type ServiceSettings = Pick<AppOptions, 'baseUrl' | 'dataDir' | 'listens' | 'onFatal'> & {
  config: ErrandConfig | string
  role?: Role
  log: Logger
}

export async function openService({ config, dataDir, log, ...settings }: ServiceSettings): Promise<App> {
  for (const unknown of unknownVariables()) log.warn({}, describeUnknown(unknown))
  const configFile = typeof config === 'string' ? config : null
  const loaded = typeof config === 'string' ? await loadConfigFile(config) : config
  const limits = resolveLimits(loaded.limits)
  const fewFiles = describeFewFiles(limits.maxConnections)
  if (fewFiles !== undefined) log.warn({}, fewFiles)
  return await startApp({
    ...settings,
    config: { ...loaded, login: resolveLogin(loaded.login) },
    configFile,
    dataDir,
    databaseUrl: resolveDatabaseUrl(),
    payloadBucket: resolvePayloadBucket(),
    payments: resolvePayments(),
    mail: resolveMail(),
    brand: resolveBrand(),
    signUp: resolveSignUp(),
    secrets: () => resolveSecrets(dataDir),
    commandPath: resolveCommandPath(),
    metricsToken: resolveMetricsToken(),
    trustedProxies: resolveTrustedProxies(),
    webhookPrivateHosts: loaded.webhooks?.privateHosts ?? [],
    connectorPrivateHosts: resolvePrivateHosts(loaded.connectors?.privateHosts),
    limits,
    log,
  })
}
