import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from '../kernel/logger.ts'
import type { PayloadStore } from '../payloads/payload-store.ts'
import type { LedgerReport } from '../store/ledger/ledger-report.ts'
import type { Store } from '../store/store.ts'

const purgeMs = 60_000
const queuedMs = 60_000
const expiredMs = 15_000
const eraseMs = 5000
const closeMs = 60 * 60_000
const keysMs = 10 * 60_000
const collectMs = 15 * 60_000
const verifyMs = 24 * 3_600_000
/** Delays the first ledger check, so that it does not slow down the first requests after a start. */
const firstVerifyMs = 2000
const orphanAgeMs = 60 * 60_000

type UpkeepParts = {
  store: Store
  payloads: PayloadStore
  log: Logger
  onLedgerReport: (report: LedgerReport) => void
  /** Called every minute with the number of queued tasks. */
  onQueued: (count: number) => void
}

/** Starts the background jobs: ledger checks, soon after the start and then daily, and the removal of expired data. */
export function startUpkeep({ store, payloads, log, onLedgerReport, onQueued }: UpkeepParts): { stop: () => void } {
  const stopping = new AbortController()
  const run = (what: string, work: () => Promise<unknown>) => {
    work().catch((error: unknown) => {
      if (!stopping.signal.aborted) log.warn({ err: error }, `${what} failed; retrying`)
    })
  }
  const untilDone = (step: () => Promise<boolean>) => async () => {
    while (!stopping.signal.aborted && (await step())) continue
  }
  const purge = untilDone(() => store.purgeExpired())
  let isPruning = false
  /**
   * Pauses after each step for nine times as long as the step took, so that pruning uses a tenth of the store's time.
   */
  const prune = async () => {
    if (isPruning) return
    isPruning = true
    try {
      for (let from = performance.now(); !stopping.signal.aborted && (await store.prune()); from = performance.now()) {
        await pause(9 * (performance.now() - from), undefined, { ref: false, signal: stopping.signal })
      }
    } finally {
      isPruning = false
    }
  }
  let isErasing = false
  /** Pauses after each step for as long as the step took. */
  const erase = async () => {
    if (isErasing) return
    isErasing = true
    try {
      for (const userId of await store.erasure.inProgress()) {
        let from = performance.now()
        for (; !stopping.signal.aborted && (await store.erasure.eraseMore(userId)); from = performance.now()) {
          await pause(performance.now() - from, undefined, { ref: false, signal: stopping.signal })
        }
      }
    } finally {
      isErasing = false
    }
  }
  const closeBooks = untilDone(() => store.books.close())
  const noteExpired = untilDone(() => store.noteExpired())
  const noteExpiringKeys = untilDone(() => store.mails.noteExpiringKeys())
  let wasLookedAt = true
  const collect = async () => {
    const isDue = wasLookedAt
    wasLookedAt = false
    // Skip the round after a failed one. While the database is down, finished runs cannot insert rows for the payloads
    // they wrote. The skipped round gives them time to do so before unreferenced payloads are removed.
    await store.findPayload('')
    if (isDue) await collectOrphans()
    wasLookedAt = true
  }
  const collectOrphans = async () => {
    const removed = await payloads.collectOrphans(
      orphanAgeMs,
      async (id) => (await store.findPayload(id)) !== undefined,
    )
    if (removed > 0) log.info({ payloads: removed }, 'removed unreferenced payloads')
  }
  const verify = async () => {
    const report = await store.verifyLedger()
    onLedgerReport(report)
    if (!report.ok)
      log.error({ differences: report.differences }, 'the ledger is inconsistent; run errand ledger verify')
  }
  const countQueued = async () => onQueued((await store.readState()).pendingTasks)
  const timers = [
    setTimeout(() => run('checking the ledger', verify), firstVerifyMs),
    setTimeout(() => run('closing the books', closeBooks), firstVerifyMs),
    setInterval(() => run('closing the books', closeBooks), closeMs),
    setInterval(() => run('searching for expired sessions', noteExpired), expiredMs),
    setInterval(() => run('searching for expiring keys', noteExpiringKeys), keysMs),
    setInterval(() => run('counting the queued tasks', countQueued), queuedMs),
    setInterval(() => run('purging expired rows', purge), purgeMs),
    setInterval(() => run('applying the retention settings', prune), purgeMs),
    setInterval(() => run('erasing users', erase), eraseMs),
    setInterval(() => run('collecting orphaned payloads', collect), collectMs),
    setInterval(() => run('checking the ledger', verify), verifyMs),
  ]
  for (const timer of timers) timer.unref()
  return {
    stop: () => {
      stopping.abort()
      timers.forEach((timer) => clearInterval(timer))
    },
  }
}
