import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { AgentHost, AgentThreadState } from '../agents/threads/agent-port.ts'
import type { Catalogue } from '../agents/config/catalogue.ts'
import { writtenRates } from '../billing/written-rates.ts'
import { isoTime, type Clock, type EpochMs } from '../kernel/clock.ts'
import { formatUsd } from '../kernel/money.ts'
import type { MailSender } from '../mails/mail-sender.ts'
import { packageVersion } from '../kernel/package-version.ts'
import type { LastDay } from './last-day.ts'
import type { LedgerReport } from '../store/ledger/ledger-report.ts'
import type { Store } from '../store/store.ts'
import type { System } from './system-schema.ts'

export type SystemParts = {
  version: string
  startedAt: EpochMs
  loopDelay: LoopDelay
  agentThreads: () => AgentThreadState[]
  isAccepting: () => boolean
  lastDay: LastDay
  ledger: { report: LedgerReport; checkedAt: EpochMs } | null
}

const sampleMs = 20
const renewMs = 300_000
const failuresMax = 20
const nanosecondsPerMs = 1e6

export class LoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: sampleMs })
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#histogram.enable()
    // Reset regularly, because percentiles over a whole day would not show the current state.
    this.#timer = setInterval(() => this.#histogram.reset(), renewMs)
    this.#timer.unref()
  }

  read(): { p50: number; p99: number } {
    const late = (percentile: number) => {
      const ms = this.#histogram.percentile(percentile) / nanosecondsPerMs - sampleMs
      return Math.max(0, Math.round(ms * 10) / 10)
    }
    return this.#histogram.count === 0 ? { p50: 0, p99: 0 } : { p50: late(50), p99: late(99) }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#histogram.disable()
  }
}

type SystemOf = { agents: AgentHost; clock: Clock; lastDay: LastDay; runner: { readonly isAccepting: boolean } }

export function createSystem({ agents, clock, lastDay, runner }: SystemOf): SystemParts {
  return {
    version: packageVersion,
    startedAt: clock.now(),
    loopDelay: new LoopDelay(),
    agentThreads: () => agents.threads(),
    isAccepting: () => runner.isAccepting,
    lastDay,
    ledger: null,
  }
}

export type AdminParts = {
  catalogue: Catalogue
  clock: Clock
  mails?: MailSender | undefined
  store: Store
  system: SystemParts
}

export async function readSystem({ catalogue, clock, mails, store, system }: AdminParts): Promise<System> {
  const [state, failures, mail] = await Promise.all([
    store.readState(),
    store.books.readFailures(failuresMax),
    mails ? store.mails.readState() : null,
  ])
  const { heapUsed, rss } = process.memoryUsage()
  const { lastDay, ledger } = system
  return {
    version: system.version,
    nodeVersion: process.versions.node,
    startedAt: isoTime(system.startedAt),
    uptimeSeconds: Math.floor((clock.now() - system.startedAt) / 1000),
    accepting: system.isAccepting(),
    tasks: { pending: state.pendingTasks, processing: state.processingTasks },
    openTurns: state.openTurns,
    agentThreads: system.agentThreads(),
    memory: { residentBytes: rss, heapUsedBytes: heapUsed },
    eventLoopDelayMs: system.loopDelay.read(),
    database: { bytes: state.databaseBytes, walBytes: state.walBytes },
    ledger: ledger && {
      ok: ledger.report.ok,
      checkedAt: isoTime(ledger.checkedAt),
      differences: ledger.report.differences.length,
      balanceUsd: ledger.report.balanceUsd,
    },
    mail: mail && {
      waiting: mail.pending,
      failed: mail.failed,
      lastError: mail.lastError && { message: mail.lastError.error, at: isoTime(mail.lastError.at) },
    },
    lastDay: {
      since: isoTime(lastDay.since),
      hours: lastDay.read().map(({ startsAt, ...hour }) => ({ ...hour, start: isoTime(startsAt) })),
    },
    newestFailures: failures.map(({ completedAt, id: taskId, ...task }) => ({
      ...task,
      taskId,
      failedAt: isoTime(completedAt),
    })),
    users: { total: state.users, suspended: state.suspendedUsers },
    agents: catalogue.agents.map(({ chat, endpoints, id, kind, name, visibility }) => ({
      id,
      name,
      kind,
      visibility: visibility === 'public' ? visibility : [...visibility],
      endpoints: endpoints.map((endpoint) => ({ id: endpoint.id, priceUsd: formatUsd(endpoint.price) })),
      chatPricing: chat && writtenRates(chat.rates),
    })),
    plans: [...catalogue.plans.named].map(([name, { agents, spendPerDay, ...counts }]) => ({
      name,
      isDefault: name === catalogue.plans.defaultName,
      ...counts,
      spendPerDayUsd: spendPerDay === null ? null : formatUsd(spendPerDay),
      agents: agents && [...agents],
    })),
  }
}
