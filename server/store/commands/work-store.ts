import type { Store, StoreLimits } from '../store.ts'
import { nothingUsed } from '../sessions/turn-endings.ts'
import { formatUsd } from '../../kernel/money.ts'
import { recorded } from '../audit/audit-commands.ts'
import { liftBlock } from '../accounts/abuse-block.ts'
import * as accounts from '../accounts/stored-accounts.ts'
import type { Engine } from './command.ts'
import { noteExpired, purgeEvents } from '../events/event-commands.ts'
import { webhookStore } from '../events/webhook-store.ts'
import { findIdempotent, purgeKeys } from '../requests/idempotency-keys.ts'
import { purgeInvitations } from '../access/invitation-commands.ts'
import { purgeLogins } from '../access/login-commands.ts'
import { purgeTries } from '../access/login-throttle.ts'
import { foreseeLimits, readRate } from '../limits/limit-facts.ts'
import { changeAccountLimits, readLimits, readPlansInUse } from '../limits/account-plans.ts'
import { purgeWindows, readWindows } from '../limits/spend-windows.ts'
import { purgeSignIns } from '../connectors/grant-ends.ts'
import { purgeClientTokens } from '../platform/client-token-commands.ts'
import { purgeMails } from '../mails/mail-commands.ts'
import { mailStore } from '../mails/mail-store.ts'
import { paymentStore } from '../payments/payment-store.ts'
import { expireTopups } from '../payments/topup-commands.ts'
import * as sessions from '../sessions/session-commands.ts'
import { listSessions } from '../sessions/list-sessions.ts'
import { closeBooks } from '../books/book-closing.ts'
import { readBooks, readEmails } from '../books/book-reads.ts'
import { readFailures } from '../books/failure-reads.ts'
import { readReserved, readRuns } from '../books/run-reads.ts'
import { readSpend } from '../accounts/spend-reads.ts'
import * as tasks from '../tasks/task-commands.ts'
import * as attempts from '../tasks/attempt-notes.ts'
import { pruneTasks } from '../tasks/prune-tasks.ts'
import * as reads from '../tasks/task-reads.ts'
import * as turns from '../sessions/turn-commands.ts'
import { findOpenTurn, findTurn, keepEvents, purgeTurnEvents, readEvents } from '../sessions/turn-event-commands.ts'
import { purgeRequests, wireRequestStore } from '../requests/wire-request-commands.ts'

const purgeRowsMax = 500
const expiredRowsMax = 100
const closedMax = 1000
const prunedTasksMax = 50
const prunedSessionsMax = 5

export function workStore(engine: Engine, limits: StoreLimits) {
  return {
    admitTask: async (input) => {
      const admitted = await engine.run((tx) => tasks.admitTask(tx, input, limits), input)
      if (admitted.outcome === 'accepted') engine.noteOwner(input.taskId, input.userId)
      return admitted
    },
    foreseeAdmission: (input) => engine.read((on) => tasks.foreseeAdmission(on, input, limits)),
    claimTask: async (taskId) => {
      const claimed = await engine.run((tx) => tasks.claimTask(tx, taskId, limits), { taskId })
      if (typeof claimed === 'object') engine.noteOwner(taskId, claimed.userId)
      if (claimed === 'blocked') engine.dropOwner(taskId)
      return claimed
    },
    completeTask: async (input) => {
      const isDone = await engine.run((tx) => tasks.completeTask(tx, input), input)
      engine.dropOwner(input.taskId)
      return isDone
    },
    failTask: async (input) => {
      const isDone = await engine.run((tx) => tasks.failTask(tx, input, limits), input)
      engine.dropOwner(input.taskId)
      return isDone
    },
    forbidCancel: (input) => engine.run((tx) => attempts.forbidCancel(tx, input), input),
    noteProgress: (notes) => engine.run((tx) => attempts.noteProgress(tx, notes)),
    cancelTask: async (input) => {
      const canceled = await engine.run((tx) => tasks.cancelTask(tx, input, limits), { userId: input.userId })
      if (canceled.outcome === 'canceled') engine.dropOwner(input.taskId)
      return canceled
    },
    expiringTasks: (limit) => engine.read((on) => tasks.expiringTasks(on, limit)),
    expireTask: async (input) => {
      const isDone = await engine.run((tx) => tasks.expireTask(tx, input, limits), { taskId: input.taskId })
      if (isDone) engine.dropOwner(input.taskId)
      return isDone
    },
    interruptTask: (input) => engine.run((tx) => tasks.interruptTask(tx, input, limits), input),
    abandonedTasks: (limit) => engine.read((on) => reads.abandonedTasks(on, limit)),
    getTask: engine.taskOf(reads.getTask),
    listTasks: (input) => engine.read((on) => reads.listTasks(on, input), input.userId),
    exportTasks: (input) => engine.read((on) => reads.exportTasks(on, input), input.userId),
    findIdempotent: (input) => engine.read((on) => findIdempotent(on, input)),
    requests: wireRequestStore(engine),
    findPayload: (payloadId) => engine.read((on) => reads.findPayload(on, payloadId)),
    listPayloads: (input) => engine.read((on) => reads.listPayloads(on, input)),
    createSession: (input) => engine.run((tx) => sessions.createSession(tx, input, limits), input),
    getSession: (input) => engine.read((on) => sessions.getSession(on, input, limits)),
    listSessions: (input) => engine.read((on) => listSessions(on, input, limits), input.userId),
    updateSession: (input) => engine.run((tx) => sessions.updateSession(tx, input, limits), input),
    deleteSession: (input) => engine.run((tx) => sessions.deleteSession(tx, input), input),
    listMessages: (input) => engine.read((on) => sessions.listMessages(on, input), input.userId),
    readReply: (input) => engine.read((on) => sessions.readReply(on, input)),
    readHistory: (input) => engine.read((on) => sessions.readHistory(on, input)),
    openTurn: async (input) => {
      const opened = await engine.run((tx) => turns.openTurn(tx, input, limits), input)
      if (opened.outcome === 'opened') engine.noteOwner(input.turnId, input.userId)
      return opened
    },
    growHold: (input) => engine.run((tx) => turns.growHold(tx, input, limits), input),
    settleTurn: async (input) => {
      const settled = await engine.run((tx) => turns.settleTurn(tx, input, { limits }), input)
      engine.dropOwner(input.turnId)
      return settled
    },
    closeAbandonedTurns: () => closeAbandonedTurns(engine, limits),
    readLimits: (userId) => engine.read((on) => readLimits(on, userId, limits)),
    changeAccountLimits: (input) => {
      const { changes, plan, userId } = input
      return engine.run(
        recorded(
          (tx) => changeAccountLimits(tx, input, limits),
          ({ outcome }) => outcome === 'changed' && { action: 'limits.changed', userId, change: { plan, ...changes } },
        ),
        { userId },
      )
    },
    plansInUse: () => engine.read(readPlansInUse),
    spendStates: (of) =>
      engine.read(function* (on) {
        return yield* readWindows(on, of, yield* on.now())
      }),
    foreseeLimits: (input) => engine.read((on) => foreseeLimits(on, input, limits)),
    readRate: (of) => engine.read((on) => readRate(on, of, limits)),
    getAccount: (userId) => engine.read((on) => accounts.getAccount(on, userId)),
    listTransactions: (input) => engine.read((on) => accounts.listTransactions(on, input), input.userId),
    exportTransactions: (input) => engine.read((on) => accounts.exportTransactions(on, input), input.userId),
    credit: (input) =>
      engine.run(
        recorded(
          (tx) => accounts.credit(tx, input),
          (done) =>
            done.outcome === 'credited' && {
              action: 'balance.changed',
              userId: input.userId,
              change: { transactionId: done.transactionId, amountUsd: formatUsd(input.amount) },
            },
        ),
        input,
      ),
    readSpend: (input) => engine.read((on) => readSpend(on, input), input.userId),
    unblock: (userId) =>
      engine.run(
        recorded(
          (tx) => liftBlock(tx, userId),
          (isLifted) => isLifted && { action: 'user.unblocked', userId },
        ),
      ),
    webhooks: webhookStore(engine),
    payments: paymentStore(engine),
    mails: mailStore(engine),
    books: {
      read: (input) => engine.read((on) => readBooks(on, input)),
      readReserved: (input) => engine.read((on) => readReserved(on, input), input.userId),
      readRuns: (input) => engine.read((on) => readRuns(on, input), input.userId),
      readFailures: (limit) => engine.read((on) => readFailures(on, limit)),
      readEmails: (userIds) => engine.read((on) => readEmails(on, userIds)),
      close: () => engine.run((tx) => closeBooks(tx)),
    },
    turnEvents: {
      findTurn: (input) => engine.read((on) => findTurn(on, input)),
      findOpenTurn: (input) => engine.read((on) => findOpenTurn(on, input)),
      keep: (events, dropped = []) => engine.run((tx) => keepEvents(tx, { events, dropped })),
      read: (input) => engine.read((on) => readEvents(on, input)),
    },
    noteExpired: async () => (await engine.run((tx) => noteExpired(tx, limits, expiredRowsMax))) >= expiredRowsMax,
    prune: () => prune(engine, limits),
    purgeExpired: () =>
      engine.run(function* (tx) {
        const purged = [
          yield* purgeKeys(tx, purgeRowsMax),
          yield* purgeRequests(tx, purgeRowsMax),
          yield* purgeLogins(tx, purgeRowsMax),
          yield* purgeTries(tx, purgeRowsMax),
          yield* purgeInvitations(tx, purgeRowsMax),
          yield* purgeEvents(tx, purgeRowsMax),
          yield* purgeTurnEvents(tx, purgeRowsMax),
          yield* purgeMails(tx, purgeRowsMax),
          yield* purgeWindows(tx, purgeRowsMax),
          yield* purgeClientTokens(tx, purgeRowsMax),
          yield* purgeSignIns(tx, purgeRowsMax),
          yield* expireTopups(tx, purgeRowsMax),
        ]
        return purged.some((rows) => rows >= purgeRowsMax)
      }),
  } satisfies Partial<Store>
}

/** Settles each turn in its own transaction, because a command can lock only one account. */
async function closeAbandonedTurns(engine: Engine, limits: StoreLimits): Promise<number> {
  const left = await engine.read((on) => turns.abandonedTurns(on, closedMax))
  const close = (turnId: string) => {
    const ended = { turnId, outcome: 'failed', cost: 0, breakdown: nothingUsed, exchange: null } as const
    return engine.run((tx) => turns.settleTurn(tx, ended, { limits, ifAbandoned: true }))
  }
  let closed = 0
  let failure: unknown
  for (let first = 0; first < left.length; first += engine.atOnce) {
    // A turn that cannot be settled must not prevent the others from being settled.
    for (const result of await Promise.allSettled(left.slice(first, first + engine.atOnce).map(close))) {
      if (result.status === 'rejected') failure = result.reason
      else if (result.value) closed++
    }
  }
  if (failure !== undefined && closed === 0) throw failure
  return closed
}

async function prune(engine: Engine, { retention = {} }: StoreLimits): Promise<boolean> {
  const { sessionsMs, tasksMs } = retention
  const hasTasks =
    tasksMs !== undefined &&
    (await engine.run(function* (tx) {
      return yield* pruneTasks(tx, { until: (yield* tx.now()) - tasksMs, rowsMax: prunedTasksMax })
    }))
  return (sessionsMs !== undefined && (await pruneSessions(engine, sessionsMs))) || hasTasks
}

/** Deletes each session in its own transaction, because a command can lock only one account. */
async function pruneSessions(engine: Engine, ageMs: number): Promise<boolean> {
  const { idle, until } = await engine.read(function* (on) {
    const until = (yield* on.now()) - ageMs
    return { until, idle: yield* sessions.idleSessions(on, { until, rowsMax: prunedSessionsMax }) }
  })
  for (const of of idle) await engine.run((tx) => sessions.pruneSession(tx, { ...of, until }), { userId: of.userId })
  return idle.length === prunedSessionsMax
}
