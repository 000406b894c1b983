import type { Clock } from '../../kernel/clock.ts'
import { UsageError } from '../../kernel/usage-error.ts'
import type { Committed } from '../committed.ts'
import type { Store, StoreLimits } from '../store.ts'
import { nothingUsed } from '../turn-endings.ts'
import { AbuseBlock } from './abuse-block.ts'
import { AccountRows } from './account-rows.ts'
import * as connectors from './connector-rows.ts'
import { assertCurrent, migrateSchema, newestTime, openPool } from './database.ts'
import type { PgPool } from './driver.ts'
import { purgeKeys, readKey, stillKept, idempotencyKeptMs } from './idempotency-rows.ts'
import * as invitations from './invitation-rows.ts'
import * as keys from './key-rows.ts'
import { Ledger } from './ledger.ts'
import * as people from './login-commands.ts'
import * as logins from './login-rows.ts'
import { purgeTries } from './login-throttle.ts'
import { RateWindow } from './rate-window.ts'
import { sharedBy } from './shared-store.ts'
import { SessionRows } from './session-rows.ts'
import { agreeSetting, assertMoved, replaceSetting } from './setting-rows.ts'
import { PgSignals } from './signals.ts'
import { readSpend } from './spend-query.ts'
import { readState } from './state-query.ts'
import { TaskCommands } from './task-commands.ts'
import { TaskJobs } from './task-jobs.ts'
import * as tasks from './task-queries.ts'
import { silentMsMax, Transactions } from './transactions.ts'
import { abandonedTurns, TurnCommands } from './turn-commands.ts'
import * as users from './user-rows.ts'
import { verifyLedger } from './verify-ledger.ts'

const purgeRowsMax = 500
const closedAtOnce = 1000
/** Longer than a lock is waited for, and shorter than a silent server. */
const defaultStatementMsMax = 12_000
/** Of a pool of connections that others need as well. */
const closedBeside = 4

export type PostgresStoreOptions = {
  databaseUrl: string
  limits: StoreLimits
  /**
   * Made when the newest time that the store holds is known. Without it the time is the database's own, which is one
   * for all nodes.
   */
  clock?: (notBefore: number) => Clock
  onCommit?: (commit: Committed) => void
  onWarning?: (message: string) => void
  connectionsMax?: number
  statementMsMax?: number
}

/** Opens the store as a server, of which there may be many on one database: brings its schema up to date. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const onFault = (error: Error) => options.onWarning?.(`The upkeep of the queue failed: ${error.message}`)
  return await opened(options, async (pool) => {
    await migrateSchema(pool)
    await assertMoved(pool)
    return await TaskJobs.open(options.databaseUrl, onFault)
  })
}

/** Opens the store for a few short writes of the command line. Only a server migrates, but an empty database may be filled. */
export async function openPostgresStoreBeside(options: PostgresStoreOptions & { mayCreate?: boolean }): Promise<Store> {
  return await opened(options, async (pool) => {
    await assertCurrent(pool, options.mayCreate ?? false)
    await assertMoved(pool)
    return undefined
  })
}

type Prepare = (pool: PgPool) => Promise<TaskJobs | undefined>

async function opened(options: PostgresStoreOptions, prepare: Prepare): Promise<Store> {
  const { connectionsMax, databaseUrl, statementMsMax = defaultStatementMsMax } = options
  const pool = openPool(databaseUrl, connectionsMax, { statementMsMax })
  let jobs: TaskJobs | undefined
  try {
    jobs = await prepare(pool)
    const clock = options.clock?.(await newestTime(pool))
    return composeStore({ pool, jobs, clock }, options)
  } catch (error) {
    await jobs?.close()
    await pool.end()
    throw error
  }
}

/** One that meets silence is given up while another is still in time. */
function renewalMsMax(leaseMs: number): number {
  return Math.min(silentMsMax, Math.max(1000, leaseMs / 3))
}

/** A store of the command line never queues a task. */
const noQueue = {
  send: () => Promise.reject(new UsageError('Tasks are queued by a running service.')),
}

type Opened = { pool: PgPool; clock: Clock | undefined; jobs: TaskJobs | undefined }

function composeStore({ clock, jobs, pool }: Opened, options: PostgresStoreOptions): Store {
  const { databaseUrl, limits, onCommit, onWarning } = options
  const leaseMs = limits.leaseSeconds * 1000
  const ledger = new Ledger()
  const rateWindow = new RateWindow(limits)
  const abuseBlock = new AbuseBlock(limits)
  const accounts = new AccountRows(ledger)
  const commands = new TaskCommands({ ledger, rateWindow, abuseBlock, jobs: jobs ?? noQueue, leaseMs })
  const sessions = new SessionRows(limits)
  const turns = new TurnCommands({ ledger, rateWindow, sessions, leaseMs })
  const all = new Transactions(pool, {
    clock,
    ...(onCommit && { onCommit }),
    onCommitted: (tx) => ledger.committed(tx),
  })
  const urgentPool = openPool(databaseUrl, 1)
  const urgent = new Transactions(urgentPool, { clock, onCommitted: () => {}, silentMs: renewalMsMax(leaseMs) })
  // Connects when it is first used, so never for a command of the command line.
  const signals = new PgSignals({ databaseUrl, pool, onWarning })
  let closing: Promise<void> | undefined
  return {
    settings: {
      agree: (name, value) => all.run((tx) => agreeSetting(tx.client, name, value)),
      replace: (name, value) => all.run((tx) => replaceSetting(tx.client, name, value)),
    },
    ...(jobs && { shared: sharedBy({ all, jobs, leaseMs, signals, urgent }) }),
    admitTask: async (input) => {
      const admitted = await all.runFor(input.userId, (tx) => commands.admit(tx, input))
      if (admitted.outcome === 'accepted') all.gate.know(input.taskId, input.userId)
      return admitted
    },
    foreseeAdmission: (input) => all.read((on) => commands.foresee(on, input)),
    claimTask: async (taskId) => {
      const task = await all.runForExecution(taskId, (tx) => commands.claim(tx, taskId))
      if (task) all.gate.know(taskId, task.userId)
      return task
    },
    completeTask: async (input) => {
      const isDone = await all.runForExecution(input.taskId, (tx) => commands.complete(tx, input))
      all.gate.forget(input.taskId)
      return isDone
    },
    failTask: async (input) => {
      const isDone = await all.runForExecution(input.taskId, (tx) => commands.fail(tx, input))
      all.gate.forget(input.taskId)
      return isDone
    },
    interruptTask: (input) => all.runForExecution(input.taskId, (tx) => commands.interrupt(tx, input)),
    queuedTasks: (input) => all.read((on) => tasks.queuedTasks(on, input)),
    abandonedTasks: (limit) => all.read((on) => tasks.abandonedTasks(on, limit)),
    getTask: (input) => all.read((on) => tasks.getTask(on, input)),
    listTasks: (input) => all.readListOf(input.userId, (on) => tasks.listTasks(on, input)),
    findIdempotent: (input) => all.read(async (on) => stillKept(await readKey(on, input), await on.now())),
    readRate: (userId) => all.read(async (on) => rateWindow.at(await rateWindow.newest(on, userId), await on.now())),
    findPayload: (payloadId) => all.read((on) => tasks.findPayload(on, payloadId)),
    listPayloads: (input) => all.read((on) => tasks.listPayloads(on, input)),
    createSession: (input) => all.runFor(input.userId, (tx) => sessions.create(tx, input)),
    getSession: (input) => all.read((on) => sessions.get(on, input)),
    listSessions: (input) => all.readListOf(input.userId, (on) => sessions.list(on, input)),
    updateSession: (input) => all.runFor(input.userId, (tx) => sessions.update(tx, input)),
    deleteSession: (input) => all.runFor(input.userId, (tx) => sessions.delete(tx, input)),
    listMessages: (input) => all.readListOf(input.userId, (on) => sessions.listMessages(on, input)),
    readHistory: (input) => all.read((on) => sessions.history(on, input)),
    openTurn: async (input) => {
      const opened = await all.runFor(input.userId, (tx) => turns.open(tx, input))
      if (opened.outcome === 'opened') all.gate.know(input.turnId, input.userId)
      return opened
    },
    growHold: (input) => all.runForExecution(input.turnId, (tx) => turns.grow(tx, input)),
    settleTurn: async (input) => {
      const settled = await all.runForExecution(input.turnId, (tx) => turns.settle(tx, input))
      all.gate.forget(input.turnId)
      return settled
    },
    closeAbandonedTurns: async () => {
      const left = await all.read((on) => abandonedTurns(on, closedAtOnce))
      // A transaction each: no command holds the locks of two accounts.
      const close = async (turnId: string) => {
        const ended = { turnId, outcome: 'failed', cost: 0, breakdown: nothingUsed, exchange: null } as const
        return await all.run((tx) => turns.settle(tx, ended, 'if abandoned'))
      }
      let closed = 0
      let failure: unknown
      for (let first = 0; first < left.length; first += closedBeside) {
        // One that cannot be closed keeps no other from it.
        for (const result of await Promise.allSettled(left.slice(first, first + closedBeside).map(close))) {
          if (result.status === 'rejected') failure = result.reason
          else if (result.value) closed++
        }
      }
      if (failure !== undefined && closed === 0) throw failure
      return closed
    },
    getAccount: (userId) => all.read((on) => accounts.getAccount(on, userId)),
    listTransactions: (input) => all.readListOf(input.userId, (on) => accounts.listTransactions(on, input)),
    credit: (input) => all.runFor(input.userId, (tx) => accounts.credit(tx, input)),
    verifyLedger: () => all.readAll(({ client }) => verifyLedger(client)),
    readSpend: (input) => all.readListOf(input.userId, (on) => readSpend(on, input)),
    createUser: (input) => all.run((tx) => users.createUser(tx, input)),
    findUser: (email) => all.read((on) => users.findUser(on, email)),
    getUser: (userId) => all.read((on) => users.getUser(on, userId)),
    listUsers: (input) => all.read((on) => users.listUsers(on, input)),
    updateUser: (input) => all.run((tx) => people.changeUser(tx, input)),
    setPassword: (input) => all.run((tx) => people.changePassword(tx, input)),
    unblock: (userId) => all.run((tx) => abuseBlock.lift(tx, userId)),
    createKey: (input) => all.runFor(input.userId, (tx) => keys.createKey(tx, input)),
    findKey: (tokenHash) => all.read((on) => keys.findKey(on, tokenHash)),
    listKeys: (input) => all.readListOf(input.userId, (on) => keys.listKeys(on, input)),
    getKey: (input) => all.read((on) => keys.getKey(on, input)),
    revokeKey: (input) => all.run((tx) => keys.revokeKey(tx, input)),
    rotateKey: (input) => all.run((tx) => keys.rotateKey(tx, input)),
    touchKeys: (uses) => all.run((tx) => keys.touchKeys(tx, uses)),
    admitLogin: (input) => all.run((tx) => people.admitLogin(tx, input)),
    createLogin: (input) => all.run((tx) => people.createLogin(tx, input)),
    findLogin: (tokenHash) => all.read((on) => logins.findLogin(on, tokenHash)),
    listLogins: (input) => all.readListOf(input.userId, (on) => logins.listLogins(on, input)),
    endLogin: (input) => all.run((tx) => logins.endLogin(tx, input)),
    endLogins: (userId) =>
      all.run(async (tx) => {
        await tx.lockAccount({ userId })
        return await logins.endLogins(tx, userId, null)
      }),
    touchLogins: (uses) => all.run((tx) => logins.touchLogins(tx, uses)),
    openIdentity: (input) => all.run((tx) => people.openIdentity(tx, input)),
    createInvitation: (input) => all.run((tx) => people.createInvitation(tx, input)),
    findInvitation: (tokenHash) => all.read((on) => invitations.findInvitation(on, tokenHash)),
    listInvitations: (input) => all.read((on) => invitations.listInvitations(on, input)),
    revokeInvitation: (invitationId) => all.run((tx) => invitations.revokeInvitation(tx, invitationId)),
    acceptInvitation: (input) => all.run((tx) => people.acceptInvitation(tx, { ...input, ledger })),
    createConnector: (input) => all.run((tx) => connectors.createConnector(tx, input)),
    getConnector: (input) => all.read((on) => connectors.getConnector(on, input)),
    listConnectors: (input) => all.readListOf(input.userId, (on) => connectors.listConnectors(on, input)),
    updateConnector: (input) => all.run((tx) => connectors.updateConnector(tx, input)),
    deleteConnector: (input) => all.run((tx) => connectors.deleteConnector(tx, input)),
    noteConnectorCheck: (input) => all.run((tx) => connectors.noteConnectorCheck(tx, input)),
    sealedConnectors: (input) => all.read((on) => connectors.sealedConnectors(on, input)),
    resealConnector: (input) => all.run((tx) => connectors.resealConnector(tx, input)),
    readState: async () => {
      const state = await all.read(readState)
      return { ...state, posted: ledger.posted, isWritable: !all.isFailing }
    },
    canWrite: async () => {
      if (!all.isFailing) return true
      const probe = all.run((tx) => tx.client.query('UPDATE probes SET value = 1 - value WHERE id = 1'))
      return await probe.then(
        () => true,
        () => false,
      )
    },
    purgeExpired: () =>
      all.run(async (tx) => {
        const now = await tx.now()
        const purged = [
          await purgeKeys(tx, now - idempotencyKeptMs, purgeRowsMax),
          await logins.purgeLogins(tx, purgeRowsMax),
          await purgeTries(tx, purgeRowsMax),
          await invitations.purgeInvitations(tx, purgeRowsMax),
        ]
        return purged.includes(purgeRowsMax)
      }),
    backup: async () => {
      throw new UsageError('A PostgreSQL database is backed up by its own tools, for example pg_dump.')
    },
    close: () => {
      closing ??= (async () => {
        await all.settled()
        await signals.close()
        await jobs?.close()
        await urgent.settled()
        await Promise.all([urgentPool.end(), pool.end()])
      })()
      return closing
    },
  }
}
