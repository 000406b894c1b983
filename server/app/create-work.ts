import type { AgentHost } from '../agents/threads/agent-port.ts'
import type { Catalogue } from '../agents/config/catalogue.ts'
import type { ToolTokens } from '../agents/model/tool-tokens.ts'
import { ChatTurns } from '../chat/chat-turns.ts'
import type { Limits, Role } from './config.ts'
import type { ConnectorAccess } from '../connectors/connector-access.ts'
import type { Clock } from '../kernel/clock.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Meter } from '../kernel/meter.ts'
import { LeaseKeeper } from './lease-keeper.ts'
import type { SignedLinks } from '../payloads/signed-links.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { Store } from '../store/store.ts'
import { LiveProgress } from '../tasks/live-progress.ts'
import type { Quotes } from '../billing/quotes.ts'
import { settleAbandoned } from '../tasks/settle-abandoned.ts'
import { TaskEnds } from '../tasks/task-ends.ts'
import { TaskStops } from '../tasks/task-stops.ts'
import { FairPlaces } from '../kernel/fair-places.ts'
import { TaskRunner } from '../tasks/task-runner.ts'
import { localTasks, sharedTasks } from '../tasks/task-source.ts'
import { WebhookDispatcher } from '../webhooks/webhook-dispatcher.ts'
import { WebhookPosts } from '../webhooks/webhook-post.ts'
import { SigningKeys } from '../webhooks/signing-keys.ts'
import type { SecretVault } from '../kernel/secret-vault.ts'
import type { ServiceTracing } from '../kernel/tracing/service-tracing.ts'

type WorkParts = {
  access: ConnectorAccess
  agents: AgentHost
  catalogue: Catalogue
  clock: Clock
  links: SignedLinks
  log: Logger
  meter: Meter
  quotes: Quotes
  payloads: PayloadStore
  store: Store
  toolTokens: ToolTokens
  tracing: ServiceTracing | undefined
  vault: SecretVault
}

export type Work = {
  runner: TaskRunner
  chats: ChatTurns
  ends: TaskEnds
  live: LiveProgress
  stops: TaskStops
  dispatcher: WebhookDispatcher
  /** Undefined if only one process uses the store. */
  keeper: LeaseKeeper | undefined
}

type WorkOptions = { limits: Limits; role?: Role; webhookPrivateHosts: readonly string[] }

export function createWork(parts: WorkParts, { limits, role, webhookPrivateHosts }: WorkOptions): Work {
  const { catalogue, clock, log, meter, store } = parts
  const { shared } = store
  const { drainSeconds, leaseSeconds, maxQueuedTasks: queuedMax } = limits
  const concurrency = role === 'api' ? 0 : limits.taskConcurrency
  const ends = new TaskEnds(shared?.signals)
  const live = new LiveProgress({ clock, ends, log, store })
  const settling = { catalogue, ends, log, meter, store }
  const runner = new TaskRunner({
    ...parts,
    concurrency,
    drainSeconds,
    ends,
    inlineBytes: limits.inlineBytes,
    live,
    queuedMax,
    source: shared ? sharedTasks({ clock, shared }) : localTasks(settling),
  })
  const stops = new TaskStops({ ends, log, runner, store })
  const assertAccepting = () => runner.assertAccepting()
  const chats = new ChatTurns({
    ...parts,
    limits: { fileBytesMax: limits.maxFileBytes, messageFileBytesMax: limits.maxMessageFileBytes },
    replyRoom: new FairPlaces({ total: limits.maxOpenReplyBytes }),
    assertAccepting,
    drainSeconds,
    turnTimeoutMs: limits.turnTimeoutSeconds * 1000,
  })
  const settleTasks = (maySettle: () => boolean) => settleAbandoned(settling, maySettle)
  const keeper = shared && new LeaseKeeper({ store, shared, runner, chats, settleTasks, leaseSeconds, queuedMax, log })
  const dispatcher = new WebhookDispatcher({
    clock,
    keys: new SigningKeys(parts.vault),
    log,
    posts: new WebhookPosts({ privateHosts: webhookPrivateHosts }),
    store: store.webhooks,
  })
  return { runner, chats, dispatcher, ends, live, stops, keeper }
}
