import { isDeepStrictEqual } from 'node:util'
import { Catalogue } from '../agents/config/catalogue.ts'
import { ConfigError } from '../kernel/settings.ts'
import type { ErrandConfig } from '../agents/config/define-config.ts'
import { loadConfigFile } from '../agents/config/load-config-file.ts'
import { measureTools, type ToolTokens } from '../agents/model/tool-tokens.ts'
import { PriceLists } from '../agents/prices/price-lists.ts'
import { lossesOf } from '../agents/prices/read-prices.ts'
import type { AgentHost } from '../agents/threads/agent-port.ts'
import { assertNewcomerPlan, type SignUpSettings } from '../auth/invitations/sign-up-settings.ts'
import { ratesByModel } from '../billing/chat-price.ts'
import type { Logger } from '../kernel/logger.ts'
import { messageOf } from '../kernel/thrown.ts'
import type { Store } from '../store/store.ts'
import { resolveLimits, resolveLogin, type Limits } from './config.ts'
import type { Reloaded } from './reloaded.ts'

type ReadParts = {
  folder: string
  log: Logger
  toolTokens: ToolTokens
  generation?: number
}

/** Validates a configuration. Logs a warning if a token price is below the provider's. */
export async function readCatalogue(
  config: ErrandConfig,
  { folder, generation, log, toolTokens: measured }: ReadParts,
): Promise<Catalogue> {
  const catalogue = new Catalogue(config, new PriceLists(folder), generation)
  for (const { chat, endpoints, id: agentId } of catalogue.agents) {
    for (const { id: model, ...prices } of chat?.models ?? []) {
      const losses = lossesOf(prices)
      if (losses.length > 0)
        log.warn({ agentId, ...(model !== null && { model }), losses }, 'the chat rates of an agent are below its cost')
    }
    for (const { costs, id: endpointId, modelIds, rates } of endpoints) {
      for (const [at, own] of (rates ? ratesByModel(rates) : []).entries()) {
        const losses = lossesOf({ rates: own, cost: costs?.[at] ?? null })
        if (losses.length > 0)
          log.warn(
            { endpointId, ...(modelIds[at] && { model: modelIds[at] }), losses },
            'the token rates of an endpoint are below its cost',
          )
      }
    }
  }
  await measureTools(config, { catalogue, measured })
  return catalogue
}

/**
 * Warns about plans that users have but the configuration does not define. Only the plan's name is stored with each
 * user, so a configuration change can remove a plan that is in use.
 */
export async function warnOfPlans(store: Store, { plans }: Catalogue, log: Logger): Promise<void> {
  const unknown = (await store.plansInUse()).filter((plan) => !plans.named.has(plan))
  if (unknown.length === 0) return
  log.warn({ plans: unknown }, 'users have plans that are not in the configuration; the default plan applies to them')
}

/**
 * Logs which data will be deleted, so that the deletion does not surprise the operator. Throws a ConfigError if the
 * retention is invalid.
 */
export function announceRetention({ retention }: Catalogue, { limits, log }: { limits: Limits; log: Logger }): void {
  const { sessionsMs, tasksMs } = retention
  if (sessionsMs !== undefined && sessionsMs <= limits.sessionIdleSeconds * 1000) {
    throw new ConfigError('retention.sessionsDays: must be longer than limits.sessionIdleSeconds')
  }
  const days = (ms: number | undefined) => ms && ms / 86_400_000
  if (sessionsMs === undefined && tasksMs === undefined) return
  const after = { tasksDays: days(tasksMs), sessionsDays: days(sessionsMs) }
  log.info(after, 'retention is on; the contents of tasks and sessions are deleted after this many days')
}

type ReloadParts = Omit<ReadParts, 'generation'> & {
  agents: AgentHost
  catalogue: Catalogue
  /** Configuration at startup, including the login provider from the environment. */
  config: ErrandConfig
  configFile: string | null
  limits: Limits
  signUp?: SignUpSettings | undefined
  store: Store
}

/**
 * Creates the function that reloads the configuration file. New tasks and turns then run in new agent threads, and
 * those in progress finish in the old ones. If the configuration is invalid, the function rejects and changes nothing.
 */
export function createReload(parts: ReloadParts): () => Promise<Reloaded> {
  let last: Promise<unknown> = Promise.resolve()
  const { log } = parts
  return async () => {
    const reloading = last.then(() => reload(parts))
    last = reloading.catch(() => {})
    try {
      const reloaded = await reloading
      log.info(reloaded, 'reloaded the configuration')
      return reloaded
    } catch (error) {
      log.error({}, `could not reload the configuration; nothing has changed: ${messageOf(error)}`)
      throw error
    }
  }
}

async function reload(parts: ReloadParts): Promise<Reloaded> {
  const { agents, catalogue, config: atStart, configFile, log, store } = parts
  if (configFile === null) {
    throw new Error(
      'A configuration passed as an object cannot be reloaded. Pass the path of a configuration file instead.',
    )
  }
  const loaded = await loadConfigFile(configFile)
  const config = { ...loaded, login: resolveLogin(loaded.login) }
  resolveLimits(config.limits)
  const generation = catalogue.generation + 1
  const next = await readCatalogue(config, { ...parts, generation })
  announceRetention(next, parts)
  if (parts.signUp) assertNewcomerPlan(parts.signUp, next)
  await warnOfPlans(store, next, log)
  const useNewThreads = await agents.prepare(generation)
  // Do not await between these calls, so that nothing reads the new agents before their threads are used.
  catalogue.replaceWith(next)
  useNewThreads()
  const fixed = ({ connectors, limits = {}, login = {}, webhooks = {} }: ErrandConfig) => ({
    'connectors.privateHosts': connectors?.privateHosts ?? [],
    limits,
    login,
    webhooks,
  })
  const [before, now] = [fixed(atStart), fixed(config)] as [Record<string, unknown>, Record<string, unknown>]
  return {
    agents: catalogue.agents.map(({ id }) => id),
    needsRestart: Object.keys(now).filter((part) => !isDeepStrictEqual(before[part], now[part])),
  }
}
