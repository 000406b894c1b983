import { must } from '../../kernel/assert.ts'
import {
  platformOwner,
  webhooksMax,
  type CreateWebhook,
  type CreateWebhookResult,
  type RotateWebhook,
  type UpdateWebhook,
  type WebhookOf,
} from './webhook-types.ts'
import type { EventType, WebhookRecord } from './event-types.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { assign, columns, insertInto, statement } from '../commands/statement.ts'

// User and platform webhooks. Their secrets are encrypted outside the store.

type Row = Omit<WebhookRecord, 'types'> & { types: string | null }

const names =
  'id userId url description types sealed previousUntil disabledAt disabledReason failingSince createdAt updatedAt'
const row = columns(names)
const thisWebhook = 'id = :webhookId AND user_id = :userId'

const insert = statement('webhook_insert', insertInto('webhooks', names))
const get = statement<Row>('webhook_get', `SELECT ${row} FROM webhooks WHERE ${thisWebhook}`)
// Locks the row, because the dispatcher disables webhooks without locking the account.
const getLocked = statement<Row>(
  'webhook_get_locked',
  ({ forUpdate }) => `SELECT ${row} FROM webhooks WHERE ${thisWebhook} ${forUpdate}`,
)
const byId = statement<Row>('webhook_by_id', `SELECT ${row} FROM webhooks WHERE id = :webhookId`)
const ofUser = statement<Row>(
  'webhook_of_user',
  `SELECT ${row} FROM webhooks WHERE user_id = :userId ORDER BY created_at, id`,
)
const changed = 'url description types disabledAt disabledReason failingSince updatedAt'
const update = statement('webhook_update', `UPDATE webhooks SET ${assign(changed)} WHERE id = :id`)
const rotate = statement(
  'webhook_rotate',
  `UPDATE webhooks SET sealed = :to, previous_until = :previousUntil, updated_at = :now
    WHERE ${thisWebhook} AND sealed = :from`,
)
const remove = statement('webhook_delete', `DELETE FROM webhooks WHERE ${thisWebhook}`)
const sealed = statement<Row>(
  'webhook_sealed',
  `SELECT ${row} FROM webhooks WHERE id > :afterId ORDER BY id LIMIT :limit`,
)
const reseal = statement('webhook_reseal', 'UPDATE webhooks SET sealed = :to WHERE id = :webhookId AND sealed = :from')

function* lockOwner(tx: Tx, userId: string): Op<void> {
  if (userId === platformOwner) yield* tx.lock('platform-webhooks')
  else yield* tx.lockAccount({ userId })
}

export function* createWebhook(tx: Tx, input: CreateWebhook): Op<CreateWebhookResult> {
  const { types, userId, webhookId, ...given } = input
  yield* lockOwner(tx, userId)
  const known = yield* tx.all(ofUser, { userId })
  if (known.length >= webhooksMax) return { outcome: 'refused', reason: 'too-many' }
  if (given.url === null && known.some(({ url }) => url === null)) return { outcome: 'refused', reason: 'task-webhook' }
  const now = yield* tx.now()
  const made = { id: webhookId, userId, ...given, types: writeTypes(types), createdAt: now, updatedAt: now }
  yield* tx.run(insert, { ...made, previousUntil: null, disabledAt: null, disabledReason: null, failingSince: null })
  tx.made({ table: 'webhooks', id: webhookId })
  return {
    outcome: 'created',
    webhook: must(yield* getWebhook(tx, { userId, webhookId }), 'the webhook was just created'),
  }
}

export function* getWebhook(on: Reads, of: WebhookOf): Op<WebhookRecord | undefined> {
  const found = yield* on.get(get, of)
  return found && toRecord(found)
}

export function askWebhook(on: Reads, webhookId: string): Answer<WebhookRecord | undefined> {
  return on.get(byId, { webhookId }).map((found) => found && toRecord(found))
}

export function* listWebhooks(on: Reads, userId: string): Op<WebhookRecord[]> {
  return (yield* on.all(ofUser, { userId })).map(toRecord)
}

export function* updateWebhook(tx: Tx, { changes, userId, webhookId }: UpdateWebhook): Op<WebhookRecord | undefined> {
  yield* lockOwner(tx, userId)
  const known = yield* tx.get(getLocked, { userId, webhookId })
  if (!known) return undefined
  const { isEnabled, types, ...rest } = changes
  const next = { ...known, ...rest, ...(types !== undefined && { types: writeTypes(types) }) }
  const now = yield* tx.now()
  next.updatedAt = now
  if (isEnabled === true) Object.assign(next, { disabledAt: null, disabledReason: null, failingSince: null })
  if (isEnabled === false && known.disabledAt === null) {
    Object.assign(next, { disabledAt: now, disabledReason: 'user' })
  }
  yield* tx.run(update, next)
  return toRecord(next)
}

export function* rotateWebhook(tx: Tx, { userId, ...change }: RotateWebhook): Op<boolean> {
  yield* lockOwner(tx, userId)
  return (yield* tx.run(rotate, { userId, ...change, now: yield* tx.now() })) === 1
}

export function* deleteWebhook(tx: Tx, of: WebhookOf): Op<boolean> {
  yield* lockOwner(tx, of.userId)
  return (yield* tx.run(remove, of)) === 1
}

export function* sealedWebhooks(on: Reads, of: { afterId: string; limit: number }): Op<WebhookRecord[]> {
  return (yield* on.all(sealed, of)).map(toRecord)
}

export function* resealWebhook(tx: Tx, change: { webhookId: string; from: string; to: string }): Op<boolean> {
  return (yield* tx.run(reseal, change)) === 1
}

function writeTypes(types: readonly EventType[] | null): string | null {
  return types && `,${types.join(',')},`
}

function toRecord({ types, ...webhook }: Row): WebhookRecord {
  return { ...webhook, types: types === null ? null : (types.slice(1, -1).split(',') as EventType[]) }
}
