import type { ConnectorOf, ConnectorRecord } from './connector-types.ts'
import type { ConnectorGrantStore, GrantRecord, SignInRecord } from './grant-types.ts'
import type { Engine, Op, Tx } from '../commands/command.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'
import { getConnector, setStatus } from './connector-commands.ts'
import { endSignIns, removeGrant } from './grant-ends.ts'

// A grant is the access that a connector's server gives when the user signs in. An OAuth connector has the status
// `needs_sign_in` exactly when it has no tokens, so both change in one transaction. Every command locks the account
// first, so that a grant cannot end while it is being renewed.

const made = 'connectorId userId issuer sealed expiresAt version'
const row = columns(made)
const ofConnector = 'connector_id = :connectorId AND user_id = :userId'
const ofVersion = `${ofConnector} AND version = :version`

const get = statement<GrantRecord>('grant_get', `SELECT ${row} FROM connector_grants WHERE ${ofConnector}`)
const insert = statement('grant_insert', insertInto('connector_grants', `${made} refreshUntil updatedAt`))
const claim = statement(
  'grant_claim',
  `UPDATE connector_grants SET refresh_until = :until
    WHERE ${ofVersion} AND (refresh_until IS NULL OR refresh_until <= :now)`,
)
const release = statement('grant_release', `UPDATE connector_grants SET refresh_until = NULL WHERE ${ofVersion}`)
const renew = statement(
  'grant_renew',
  `UPDATE connector_grants
    SET sealed = :sealed, expires_at = :expiresAt, version = version + 1, refresh_until = NULL, updated_at = :now
    WHERE ${ofVersion}`,
)
const keepClient = statement(
  'grant_keep_client',
  `UPDATE connector_grants
    SET sealed = :sealed, expires_at = NULL, version = version + 1, refresh_until = NULL, updated_at = :now
    WHERE ${ofConnector}`,
)
const sealed = statement<GrantRecord>(
  'grant_sealed',
  `SELECT ${row} FROM connector_grants WHERE connector_id > :afterId ORDER BY connector_id LIMIT :limit`,
)
const reseal = statement(
  'grant_reseal',
  'UPDATE connector_grants SET sealed = :to WHERE connector_id = :connectorId AND sealed = :from',
)

const signInRow = columns('connectorId userId sealed expiresAt')
const insertSignIn = statement(
  'sign_in_insert',
  insertInto('connector_sign_ins', 'stateHash connectorId userId sealed createdAt expiresAt'),
)
const findSignIn = statement<SignInRecord>(
  'sign_in_find',
  `SELECT ${signInRow} FROM connector_sign_ins WHERE state_hash = :stateHash`,
)
const pending = statement<{ expiresAt: number }>(
  'sign_in_pending',
  `SELECT expires_at AS "expiresAt" FROM connector_sign_ins WHERE ${ofConnector}`,
)
const removeSignIn = statement('sign_in_delete', 'DELETE FROM connector_sign_ins WHERE state_hash = :stateHash')
export function grantStore(engine: Engine): ConnectorGrantStore {
  return {
    get: (of) => engine.read((on) => on.get(get, of)),
    isPending: (of) => engine.read((on) => on.get(pending, of).map((found) => found !== undefined)),
    begin: (input) => engine.run((tx) => beginSignIn(tx, input)),
    find: (stateHash) => engine.read((on) => on.get(findSignIn, { stateHash })),
    take: (stateHash) => engine.run((tx) => takeSignIn(tx, stateHash)),
    keep: (input) => engine.run((tx) => keepGrant(tx, input)),
    noteFailure: (input) => engine.run((tx) => noteFailure(tx, input)),
    claim: (input) => engine.run((tx) => claimRefresh(tx, input)),
    renew: (input) => engine.run((tx) => renewGrant(tx, input)),
    release: (input) => engine.run((tx) => releaseRefresh(tx, input)),
    end: (input) => engine.run((tx) => endGrant(tx, input)),
    sealed: (of) => engine.read((on) => on.all(sealed, of)),
    reseal: (change) =>
      engine.run(function* (tx) {
        return (yield* tx.run(reseal, change)) === 1
      }),
  }
}

type Input<Method extends keyof ConnectorGrantStore> = Parameters<ConnectorGrantStore[Method]>[0]

function* beginSignIn(tx: Tx, input: Input<'begin'>): Op<{ expiresAt: number } | undefined> {
  const { connectorId, ifUpdatedAt, lifeMs, sealed: kept, stateHash, userId } = input
  const of = { connectorId, userId }
  if (!(yield* lockUnchanged(tx, of, ifUpdatedAt))) return undefined
  yield* endSignIns(tx, of)
  const now = yield* tx.now()
  const expiresAt = now + lifeMs
  yield* tx.run(insertSignIn, { ...of, stateHash, sealed: kept, createdAt: now, expiresAt })
  return { expiresAt }
}

function* takeSignIn(tx: Tx, stateHash: string): Op<ConnectorRecord | undefined> {
  const seen = yield* tx.get(findSignIn, { stateHash })
  if (!seen) return undefined
  const { connectorId, expiresAt, userId } = seen
  yield* tx.lockAccount({ userId })
  // Two callers may have found the sign-in. Only the one that deletes it may use it.
  if ((yield* tx.run(removeSignIn, { stateHash })) === 0 || expiresAt <= (yield* tx.now())) return undefined
  return yield* getConnector(tx, { connectorId, userId })
}

function* keepGrant(tx: Tx, input: Input<'keep'>): Op<boolean> {
  const { connectorId, expiresInMs, ifUpdatedAt, issuer, sealed: tokens, userId } = input
  const of = { connectorId, userId }
  const known = yield* lockUnchanged(tx, of, ifUpdatedAt)
  if (!known) return false
  yield* removeGrant(tx, of)
  const now = yield* tx.now()
  const expiresAt = expiresInMs === null ? null : now + expiresInMs
  // Versions start at the current time, which is higher than any earlier version. A refresh of earlier tokens therefore
  // cannot replace these.
  const version = now
  yield* tx.run(insert, { ...of, issuer, sealed: tokens, expiresAt, version, refreshUntil: null, updatedAt: now })
  yield* setStatus(tx, known, { status: 'untested', statusMessage: null })
  return true
}

function* noteFailure(tx: Tx, { message, ...of }: Input<'noteFailure'>): Op<void> {
  yield* tx.lockAccount({ userId: of.userId })
  const known = yield* getConnector(tx, of)
  if (known?.status === 'needs_sign_in') {
    yield* setStatus(tx, known, { status: 'needs_sign_in', statusMessage: message })
  }
}

function* claimRefresh(tx: Tx, { forMs, ...of }: Input<'claim'>): Op<boolean> {
  yield* tx.lockAccount({ userId: of.userId })
  const now = yield* tx.now()
  return (yield* tx.run(claim, { ...of, now, until: now + forMs })) === 1
}

function* renewGrant(tx: Tx, { expiresInMs, ...of }: Input<'renew'>): Op<GrantRecord | undefined> {
  const { connectorId, userId } = of
  yield* tx.lockAccount({ userId })
  const now = yield* tx.now()
  const expiresAt = expiresInMs === null ? null : now + expiresInMs
  if ((yield* tx.run(renew, { ...of, now, expiresAt })) === 0) return undefined
  return yield* tx.get(get, { connectorId, userId })
}

function* releaseRefresh(tx: Tx, of: Input<'release'>): Op<void> {
  yield* tx.lockAccount({ userId: of.userId })
  yield* tx.run(release, of)
}

function* endGrant(tx: Tx, { message, sealed: client, version, ...of }: Input<'end'>): Op<boolean> {
  yield* tx.lockAccount({ userId: of.userId })
  const grant = yield* tx.get(get, of)
  const known = yield* getConnector(tx, of)
  if (version !== null && version !== grant?.version) return false
  if (client === null) yield* removeGrant(tx, of)
  if (!grant || !known || known.status === 'needs_sign_in') return false
  if (client !== null) yield* tx.run(keepClient, { ...of, sealed: client, now: yield* tx.now() })
  yield* setStatus(tx, known, { status: 'needs_sign_in', statusMessage: message })
  return true
}

/** Locks the account and returns the connector. Returns undefined if the connector has changed since `updatedAt`. */
function* lockUnchanged(tx: Tx, of: ConnectorOf, updatedAt: number): Op<ConnectorRecord | undefined> {
  yield* tx.lockAccount({ userId: of.userId })
  const known = yield* getConnector(tx, of)
  return known?.updatedAt === updatedAt ? known : undefined
}
