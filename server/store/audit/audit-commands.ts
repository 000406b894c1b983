import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import type { Engine, Op, Reads, Tx } from '../commands/command.ts'
import { columns, insertInto, statement } from '../commands/statement.ts'
import type { ListPlace } from '../list-place.ts'
import type { Act, Actor, AuditRecord, AuditStore, ListAudit } from './audit-types.ts'

// The hash of each audit row covers its content and the previous row's hash, so a changed or deleted row is detected. A
// setting stores the newest hash, so that deleting the last rows is detected too.

/** Setting that stores the hash of the newest row. */
export const auditHead = 'audit-head'

const actors = new AsyncLocalStorage<() => Actor>()
const service: Actor = { kind: 'service', id: null, client: null }

/** Sets the actor of all records that `work` writes. `actor` is called only if something is recorded. */
export function actAs<Result>(actor: () => Actor, work: () => Result): Result {
  return actors.run(actor, work)
}

const row = 'action actor actorId client userId change createdAt'
const insert = statement('audit_insert', insertInto('audit_log', `${row} hash`))
const head = statement<{ hash: string }>('audit_head', `SELECT value AS hash FROM settings WHERE name = '${auditHead}'`)
const setHead = statement(
  'audit_set_head',
  `INSERT INTO settings (name, value) VALUES ('${auditHead}', :hash)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
)
const listed = (name: string, where: string) =>
  statement<AuditRecord>(
    `audit_list${name}`,
    `SELECT ${columns(`seq ${row}`)} FROM audit_log WHERE ${where} seq < :before ORDER BY seq DESC LIMIT :limit`,
  )
const all = listed('', '')
const ofUser = listed('_of_user', 'user_id = :userId AND')
const ofAction = listed('_of_action', 'action = :action AND')
const ofBoth = listed('_of_user_and_action', 'user_id = :userId AND action = :action AND')

/**
 * Returns a command that also writes an audit record in the same transaction. If `actOf` returns undefined, nothing is
 * recorded. Call this where the operation starts, because the actor comes from the current async context.
 */
export function recorded<Value>(
  command: (tx: Tx) => Op<Value>,
  actOf: (value: Value) => Act | false | undefined,
): (tx: Tx) => Op<Value> {
  const actor = actors.getStore()
  return function* (tx) {
    const value = yield* command(tx)
    const act = actOf(value)
    if (act) yield* append(tx, act, actor?.() ?? service)
    return value
  }
}

function* append(tx: Tx, { action, change = {}, userId = null }: Act, actor: Actor): Op<void> {
  // Taken last, so that this lock cannot cause a deadlock with others.
  yield* tx.lock('audit')
  const before = (yield* tx.get(head))?.hash ?? ''
  const createdAt = yield* tx.now()
  const { client, id: actorId, kind } = actor
  const written = { action, actor: kind, actorId, client, userId, change: JSON.stringify(change), createdAt }
  const content = [before, createdAt, action, kind, actorId ?? '', client ?? '', userId ?? '', written.change]
  const digest = hash('sha256', content.join(' '))
  tx.send(insert, { ...written, hash: digest })
  yield* tx.run(setHead, { hash: digest })
}

function* list(on: Reads, { action, after, limit, userId }: ListAudit): Op<{ acts: AuditRecord[]; next?: ListPlace }> {
  const ofOne = userId === undefined ? ofAction : ofUser
  const of = userId !== undefined && action !== undefined ? ofBoth : ofOne
  const filters = { ...(userId !== undefined && { userId }), ...(action !== undefined && { action }) }
  const before = after?.seq ?? Number.MAX_SAFE_INTEGER
  const found = yield* on.all((userId ?? action) ? of : all, { ...filters, before, limit: limit + 1 })
  const acts = found.slice(0, limit)
  return { acts, ...(found.length > limit && { next: acts.at(-1)! }) }
}

export function auditStore(engine: Engine): AuditStore {
  return {
    list: (input) => engine.read((on) => list(on, input)),
    note: (act) => engine.run(recorded(nothing, () => act)),
  }
}

// oxlint-disable-next-line require-yield
function* nothing(): Op<void> {}
