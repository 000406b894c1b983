import { existsSync } from 'node:fs'
import type { Clock } from '../../kernel/clock.ts'
import { makeFolder } from '../../kernel/make-folder.ts'
import type { Committed } from '../committed.ts'
import { StoreOpenError } from '../store-open-error.ts'
import type { Store, StoreLimits } from '../store.ts'
import { AbuseBlock } from './abuse-block.ts'
import { AccountRows } from './account-rows.ts'
import { ConnectorRows } from './connector-rows.ts'
import { Counters } from './counters.ts'
import { databaseFile, lockDataDir, migrateSchema, openConnection, schemaState, type Connection } from './database.ts'
import { isDamage } from './find-damage.ts'
import { GroupCommit } from './group-commit.ts'
import { IdempotencyRows } from './idempotency-rows.ts'
import { checkAtStart, damaged, noteDamage } from './integrity-check.ts'
import { InvitationRows } from './invitation-rows.ts'
import { KeyRows } from './key-rows.ts'
import { LedgerCheck } from './ledger-check.ts'
import { Ledger } from './ledger.ts'
import { LoginCommands } from './login-commands.ts'
import { LoginRows } from './login-rows.ts'
import { LoginThrottle } from './login-throttle.ts'
import { assertNotMoved } from './moved-note.ts'
import { describeClosed, keepPrivate } from './private-files.ts'
import { RateWindow } from './rate-window.ts'
import { SessionRows } from './session-rows.ts'
import { SpendQuery } from './spend-query.ts'
import { StateQuery } from './state-query.ts'
import { TaskCommands } from './task-commands.ts'
import { TaskQueries } from './task-queries.ts'
import { TurnCommands } from './turn-commands.ts'
import { UserRows } from './user-rows.ts'

const purgeRowsMax = 500

type SqliteStoreOptions = {
  dataDir: string
  limits: StoreLimits
  /** Made when the newest time that the store holds is known, so that time does not run backwards over a restart. */
  clock: (notBefore: number) => Clock
  /** Called once when the store can no longer tell what the disk holds; the process must end. */
  onFatal: (cause: unknown) => void
  onCommit?: (commit: Committed) => void
  /** Told in one line what the operator should know of the data directory. */
  onWarning?: (message: string) => void
}

/** Opens the store as the server that owns the data directory: locks it and brings its schema up to date. */
export function openSqliteStore(options: SqliteStoreOptions): Store {
  const { dataDir } = options
  return inPrivate(options, () => {
    const lock = lockDataDir(dataDir)
    try {
      assertNotMoved(dataDir)
      // Waiting here would block every request; group commit waits without blocking.
      const connection = openConnection(dataDir, 5)
      return orClose(connection, dataDir, () => {
        checkAtStart(connection.raw, dataDir)
        migrateSchema(connection, dataDir)
        return composeStore(connection, options, lock.release)
      })
    } catch (error) {
      lock.release()
      throw error
    }
  })
}

/**
 * Opens the store for a few short writes of the command line, beside a running server or without one. Only a server
 * migrates, but a data directory that has no database yet gets one.
 */
export function openSqliteStoreBeside(options: SqliteStoreOptions & { mustExist?: boolean }): Store {
  const { dataDir, mustExist = false } = options
  if (!existsSync(databaseFile(dataDir))) {
    if (mustExist) throw new StoreOpenError(`There is no Errand database in ${dataDir}.`)
    makeFolder(dataDir)
  }
  return inPrivate(options, () => {
    assertNotMoved(dataDir)
    const connection = openConnection(dataDir, 5000)
    return orClose(connection, dataDir, () => {
      if (schemaState(connection.raw) === 'empty') migrateSchema(connection, dataDir)
      if (schemaState(connection.raw) !== 'current') {
        throw new StoreOpenError(
          'The database was written by an older version of Errand. Start `errand serve` once to migrate it.',
        )
      }
      return composeStore(connection, options, () => {})
    })
  })
}

/** Warns of what was open to others, and closes what `open` makes without a word. */
function inPrivate({ dataDir, onWarning }: SqliteStoreOptions, open: () => Store): Store {
  const warning = describeClosed(keepPrivate(dataDir))
  if (warning !== undefined) onWarning?.(warning)
  const store = open()
  keepPrivate(dataDir)
  return store
}

function orClose(connection: Connection, dataDir: string, compose: () => Store): Store {
  try {
    return compose()
  } catch (error) {
    connection.raw.close()
    throw isDamage(error) ? damaged(dataDir, error.message) : error
  }
}

function newestTime({ raw }: Connection): number {
  const newest = raw
    .prepare<[], number | null>(
      `SELECT max(coalesce((SELECT created_at FROM transactions ORDER BY seq DESC LIMIT 1), 0),
                  coalesce((SELECT max(created_at, coalesce(started_at, 0), coalesce(completed_at, 0))
                            FROM tasks ORDER BY seq DESC LIMIT 1), 0),
                  coalesce((SELECT max(created_at, coalesce(settled_at, 0)) FROM turns ORDER BY seq DESC LIMIT 1), 0))`,
    )
    .pluck()
    .get()
  return newest ?? 0
}

function composeStore(connection: Connection, options: SqliteStoreOptions, onClose: () => void): Store {
  const { limits } = options
  const clock = options.clock(newestTime(connection))
  const counters = new Counters(connection)
  const ledger = new Ledger(connection, counters)
  const rateWindow = new RateWindow(connection, limits)
  const abuseBlock = new AbuseBlock(connection, limits)
  const idempotency = new IdempotencyRows(connection)
  const accounts = new AccountRows(connection, { clock, ledger })
  const users = new UserRows(connection, clock)
  const keys = new KeyRows(connection, clock)
  const logins = new LoginRows(connection, clock)
  const throttle = new LoginThrottle(connection, clock)
  const invitations = new InvitationRows(connection, clock)
  const people = new LoginCommands(connection, { clock, invitations, keys, ledger, logins, throttle, users })
  const spend = new SpendQuery(connection)
  const state = new StateQuery(connection, { users, file: databaseFile(options.dataDir), ledger })
  const connectors = new ConnectorRows(connection, clock)
  const queries = new TaskQueries(connection)
  const sessions = new SessionRows(connection, { clock, idempotency, limits })
  const turns = new TurnCommands(connection, { clock, counters, idempotency, ledger, rateWindow, sessions })
  const commands = new TaskCommands(connection, {
    clock,
    ledger,
    counters,
    rateWindow,
    abuseBlock,
    idempotency,
  })
  const batchEnd = {
    keep: () => {
      counters.keep()
      ledger.keep()
    },
    write: () => counters.write(),
    committed: () => ledger.committed(),
    drop: () => {
      counters.drop()
      ledger.drop()
      rateWindow.clear()
    },
    clear: () => {
      counters.clear()
      ledger.clear()
      rateWindow.clear()
    },
  }
  const ledgerCheck = new LedgerCheck(databaseFile(options.dataDir), (damage) => {
    const error = noteDamage(options.dataDir, damage)
    options.onFatal(error)
    return error
  })
  const commit = new GroupCommit(connection.raw, batchEnd, {
    onFatal: options.onFatal,
    ...(options.onCommit && { onCommit: options.onCommit }),
  })
  return {
    admitTask: (input) => commit.run(() => commands.admit(input)),
    foreseeAdmission: async (input) => commands.foresee(input),
    claimTask: (taskId) => commit.run(() => commands.claim(taskId)),
    completeTask: (input) => commit.run(() => commands.complete(input)),
    failTask: (input) => commit.run(() => commands.fail(input)),
    interruptTask: (input) => commit.run(() => commands.interrupt(input)),
    queuedTasks: async (input) => queries.queued(input),
    abandonedTasks: async (limit) => queries.processing(limit),
    getTask: async (input) => queries.get(input),
    listTasks: async (input) => queries.list(input),
    findIdempotent: async (input) => idempotency.find(input, clock.now()),
    readRate: async (userId) => rateWindow.read(userId, clock.now()),
    findPayload: async (payloadId) => queries.findPayload(payloadId),
    listPayloads: async (input) => queries.listPayloads(input),
    createSession: (input) => commit.run(() => sessions.create(input)),
    getSession: async (input) => sessions.get(input),
    listSessions: async (input) => sessions.list(input),
    updateSession: (input) => commit.run(() => sessions.update(input)),
    deleteSession: (input) => commit.run(() => sessions.delete(input)),
    listMessages: async (input) => sessions.listMessages(input),
    readHistory: async (input) => sessions.history(input),
    openTurn: (input) => commit.run(() => turns.open(input)),
    growHold: (input) => commit.run(() => turns.grow(input)),
    settleTurn: (input) => commit.run(() => turns.settle(input)),
    closeAbandonedTurns: () => commit.run(() => turns.closeOpen()),
    getAccount: async (userId) => accounts.getAccount(userId),
    listTransactions: async (input) => accounts.listTransactions(input),
    credit: (input) => commit.run(() => accounts.credit(input)),
    verifyLedger: () => ledgerCheck.run(),
    readSpend: async (input) => spend.read(input),
    createUser: (input) => commit.run(() => users.create(input)),
    findUser: async (email) => users.find(email),
    getUser: async (userId) => users.get(userId),
    listUsers: async (input) => users.list(input),
    updateUser: (input) => commit.run(() => people.updateUser(input)),
    setPassword: (input) => commit.run(() => people.setPassword(input)),
    unblock: (userId) => commit.run(() => abuseBlock.lift(userId, clock.now())),
    createKey: (input) => commit.run(() => keys.create(input)),
    findKey: async (tokenHash) => keys.find(tokenHash),
    listKeys: async (input) => keys.list(input),
    getKey: async (input) => keys.get(input),
    revokeKey: (input) => commit.run(() => keys.revoke(input)),
    rotateKey: (input) => commit.run(() => keys.rotate(input)),
    touchKeys: (uses) => commit.run(() => keys.touch(uses)),
    admitLogin: (input) => commit.run(() => people.admit(input)),
    createLogin: (input) => commit.run(() => people.login(input)),
    findLogin: async (tokenHash) => logins.find(tokenHash),
    listLogins: async (input) => logins.list(input),
    endLogin: (input) => commit.run(() => logins.end(input)),
    endLogins: (userId) => commit.run(() => logins.endAll(userId, null)),
    touchLogins: (uses) => commit.run(() => logins.touch(uses)),
    openIdentity: (input) => commit.run(() => people.openIdentity(input)),
    createInvitation: (input) => commit.run(() => people.invite(input)),
    findInvitation: async (tokenHash) => invitations.find(tokenHash),
    listInvitations: async (input) => invitations.list(input),
    revokeInvitation: (invitationId) => commit.run(() => invitations.revoke(invitationId)),
    acceptInvitation: (input) => commit.run(() => people.acceptInvitation(input)),
    createConnector: (input) => commit.run(() => connectors.create(input)),
    getConnector: async (input) => connectors.get(input),
    listConnectors: async (input) => connectors.list(input),
    updateConnector: (input) => commit.run(() => connectors.update(input)),
    deleteConnector: (input) => commit.run(() => connectors.delete(input)),
    noteConnectorCheck: (input) => commit.run(() => connectors.noteCheck(input)),
    sealedConnectors: async (input) => connectors.sealed(input),
    resealConnector: (input) => commit.run(() => connectors.reseal(input)),
    readState: async () => ({ ...state.read(), isWritable: !commit.isFailing }),
    canWrite: () => commit.canWrite(),
    purgeExpired: () =>
      commit.run(() => {
        const purged = [
          idempotency.purge(clock.now(), purgeRowsMax),
          logins.purge(purgeRowsMax),
          throttle.purge(purgeRowsMax),
          invitations.purge(purgeRowsMax),
        ]
        return purged.includes(purgeRowsMax)
      }),
    backup: async (file) => {
      // One statement over one snapshot. The step-wise backup starts again at every commit of another process, so
      // beside a busy server it never ended.
      try {
        connection.raw.prepare('VACUUM INTO ?').run(file)
      } catch (error) {
        throw isDamage(error) ? damaged(options.dataDir, error.message) : error
      }
    },
    close: async () => {
      await ledgerCheck.close()
      await commit.settled()
      connection.raw.close()
      onClose()
    },
  }
}
