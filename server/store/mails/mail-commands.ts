import { isoTime, type EpochMs } from '../../kernel/clock.ts'
import type { Answer, Op, Reads, Tx } from '../commands/command.ts'
import { columns, statement, type Dialect, type Value } from '../commands/statement.ts'
import type { EventType } from '../events/event-types.ts'
import {
  mailedEvents,
  sendsMail,
  type LeasedMail,
  type LinkMail,
  type MailKind,
  type MailOutcome,
  type MailRecord,
  type MailState,
} from './mail-types.ts'

// Queues mails to users. A mail is inserted by the transaction that makes the reported change, and is sent at least
// once after the commit. A lease postpones its due time:
//
//   pending, due ──lease──▶ pending, leased ──end──┬─▶ sent
//        ▲                        │                ├─▶ failed: refused, expired or no attempts left
//        └── lease expired ───────┴────────────────┴─▶ pending, due after a backoff

const dayMs = 86_400_000
/** Lifetime of a mail without a link. */
const mailLifeMs = 3 * dayMs
/** How long mails are stored. Events are stored longer, because the ledger check looks up the event of each mail. */
const mailsKeptMs = 4 * dayMs
/** How long before a key expires its owner is notified by mail. */
const expiringMs = 7 * dayMs
/** Maximum number of mails of one kind per user and day. Applies to mails that a user can trigger for free. */
const freeMailsPerDay = 10
const expiredMax = 500
/** Mails are counted only up to this number. */
const countMax = 10_000
const keysMax = 500

const keysNoted = 'expiring-keys-noted'

const names = 'id kind user_id email data sealed status attempts due_at expires_at created_at'.replaceAll(' ', ', ')
const isOn = `EXISTS (SELECT 1 FROM settings WHERE name = '${sendsMail}' AND value = 'yes')`
const values = ({ at = ':at', sealed = ':sealed' } = {}) =>
  `${sealed}, 'pending', 0, CAST(${at} AS bigint), CAST(:expiresAt AS bigint), CAST(${at} AS bigint)`

// Placeholder addresses do not receive mail (see `createUser`).
const toUser = statement(
  'mail_to_user',
  `INSERT INTO mails (${names}) SELECT :id, :kind, id, email, :data, ${values({ sealed: 'CAST(:sealed AS text)' })}
    FROM users WHERE id = :userId AND email NOT LIKE '%@users.invalid' AND ${isOn}
      AND (SELECT count(*) FROM mails m WHERE m.user_id = :userId AND m.kind = :kind AND m.created_at > :since) < :max
    ON CONFLICT DO NOTHING`,
)
const toAddress = statement(
  'mail_to_address',
  `INSERT INTO mails (${names}) SELECT :id, CAST(:kind AS text), NULL, :email, :data, ${values()} WHERE ${isOn}`,
)
const ofDisabled = statement(
  'mail_of_disabled',
  `INSERT INTO mails (${names}) SELECT :id, 'webhook.disabled', u.id, u.email,
      :data, ${values({ sealed: 'NULL' })}
    FROM webhooks w JOIN users u ON u.id = w.user_id
    WHERE w.id = :webhookId AND w.disabled_at = :at AND u.email NOT LIKE '%@users.invalid' AND ${isOn}
      AND (SELECT count(*) FROM mails m WHERE m.user_id = u.id AND m.kind = 'webhook.disabled' AND m.created_at > :since)
        < ${freeMailsPerDay}
    ON CONFLICT DO NOTHING`,
)
const anyDue = statement<{ id: string }>('mail_any_due', 'SELECT id FROM mails WHERE due_at <= :now LIMIT 1')
const someDue = ({ skipLocked }: Dialect, where: string) => `WITH old AS MATERIALIZED (
    SELECT id FROM mails WHERE due_at <= :now ${where} ${skipLocked})`
const expire = statement(
  'mail_expire',
  (dialect) => `${someDue(dialect, `AND expires_at <= :now LIMIT ${expiredMax}`)}
    UPDATE mails SET status = 'failed', due_at = NULL, sealed = NULL, attempted_at = :now,
      error = coalesce(error, 'The email could not be sent in time.') WHERE id IN (SELECT id FROM old)`,
)
type Row = Omit<LeasedMail, 'data'> & { data: string }
const lease = statement<Row>(
  'mail_lease',
  (dialect) => `${someDue(dialect, 'AND expires_at > :now ORDER BY due_at LIMIT :limit')}
    UPDATE mails SET attempts = attempts + 1, attempted_at = :now, due_at = :until WHERE id IN (SELECT id FROM old)
    RETURNING ${columns('id kind email data sealed createdAt expiresAt')}, attempts AS attempt`,
)
const end = statement(
  'mail_end',
  `UPDATE mails SET status = :status, due_at = :dueAt, error = :error, sealed = CASE WHEN :status = 'pending' THEN sealed END
    WHERE id = :id AND attempts = :attempt AND status = 'pending'`,
)
type SealedLink = { id: string; sealed: string }
const sealed = statement<SealedLink>(
  'mail_sealed',
  `SELECT id, sealed FROM mails WHERE id > :afterId AND sealed IS NOT NULL ORDER BY id LIMIT :limit`,
)
const reseal = statement('mail_reseal', 'UPDATE mails SET sealed = :to WHERE id = :mailId AND sealed = :from')
const counts = statement<{ pending: number; failed: number }>(
  'mail_counts',
  `SELECT
    (SELECT count(*) FROM (SELECT 1 FROM mails WHERE due_at IS NOT NULL LIMIT ${countMax}) AS due) AS pending,
    (SELECT count(*) FROM (SELECT 1 FROM mails WHERE error IS NOT NULL AND status = 'failed' LIMIT ${countMax}) AS gone)
      AS failed`,
)
const lastOf = (status: string) => `SELECT * FROM (SELECT error, attempted_at AS at FROM mails
    WHERE error IS NOT NULL AND status = '${status}' ORDER BY attempted_at DESC LIMIT 1) AS ${status}`
const lastError = statement<{ error: string; at: EpochMs }>(
  'mail_last_error',
  `SELECT * FROM (${lastOf('pending')} UNION ALL ${lastOf('failed')}) AS last ORDER BY at DESC LIMIT 1`,
)
const newest = statement<MailRecord>(
  'mail_newest',
  `SELECT ${columns('id kind email userId status attempts error createdAt attemptedAt')} FROM mails
    ORDER BY created_at DESC LIMIT :limit`,
)
const purge = statement(
  'mail_purge',
  `DELETE FROM mails WHERE id IN (SELECT id FROM mails WHERE created_at <= :until ORDER BY created_at LIMIT :rowsMax)`,
)
type Expiring = { id: string; userId: string; name: string; hint: string; expiresAt: EpochMs; isLive: 0 | 1 }
const expiringKeys = statement<Expiring>(
  'mail_expiring_keys',
  `SELECT ${columns('id userId name hint expiresAt')},
      CASE WHEN revoked_at IS NULL AND replaced_by IS NULL THEN 1 ELSE 0 END AS "isLive" FROM api_keys
    WHERE (expires_at, id) > (CAST(:at AS bigint), CAST(:id AS text)) AND expires_at <= :until AND expires_at IS NOT NULL
    ORDER BY expires_at, id LIMIT ${keysMax}`,
)
const readNoted = statement<{ value: string }>(
  'mail_keys_noted',
  `SELECT coalesce((SELECT value FROM settings WHERE name = '${keysNoted}'), '') AS value WHERE ${isOn}`,
)
const moveNoted = statement(
  'mail_note_keys',
  `INSERT INTO settings (name, value) VALUES ('${keysNoted}', :value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
)

type NewMail = {
  id: string
  kind: MailKind
  userId: string
  data: Record<string, Value>
  at: EpochMs
  expiresAt?: EpochMs
  sealed?: string
  max?: number
}

function draftOf({ at, data, expiresAt = at + mailLifeMs, max = freeMailsPerDay, sealed, ...of }: NewMail) {
  return { ...of, at, data: JSON.stringify(data), expiresAt, max, sealed: sealed ?? null, since: at - dayMs }
}

/** Queues a mail about an event if its type is one of `mailedEvents`. */
export function mailEvent(
  tx: Tx,
  { id, type, ...event }: { id: string; userId: string; at: EpochMs; type: string; data: Record<string, Value> },
): void {
  if (!isMailed(type)) return
  const max = type === 'balance.low' ? freeMailsPerDay : Number.MAX_SAFE_INTEGER
  tx.send(toUser, draftOf({ ...event, id: `mail${id.slice(id.indexOf('_'))}`, kind: type, max }))
}

function isMailed(type: string): type is EventType & MailKind {
  return mailedEvents.some((one) => one === type)
}

type Disabled = { webhookId: string; url: string; reason: 'gone' | 'failing'; now: EpochMs }

/** Mails the owner of a webhook if the current transaction has disabled it. */
export function mailDisabled(tx: Tx, { now: at, webhookId, ...facts }: Disabled): void {
  const id = `mail${webhookId.slice(webhookId.indexOf('_'))}_${at}`
  const data = JSON.stringify(facts)
  tx.send(ofDisabled, { id, webhookId, data, at, since: at - dayMs, expiresAt: at + mailLifeMs })
}

type MailedLink = { kind: 'invitation' | 'sign-up'; mail: LinkMail; email: string; at: EpochMs; expiresAt: EpochMs }

export function mailLink(tx: Tx, { mail, ...link }: MailedLink): void {
  tx.send(toAddress, { ...link, id: mail.mailId, sealed: mail.sealed, data: '{}' })
}

/** Tells a user that someone tried to sign up with their email address. */
export function mailAccountExists(tx: Tx, { mailId, ...of }: { mailId: string; userId: string; at: EpochMs }): void {
  tx.send(toUser, draftOf({ ...of, id: mailId, kind: 'account.exists', data: {} }))
}

/** Mails a password link. Returns false and writes nothing if the user has reached the daily maximum. */
export function* mailPasswordLink(
  tx: Tx,
  { mail, ...of }: { mail: LinkMail; userId: string; at: EpochMs; expiresAt: EpochMs },
): Op<boolean> {
  const draft = draftOf({ ...of, id: mail.mailId, sealed: mail.sealed, kind: 'password', data: {} })
  return (yield* tx.run(toUser, draft)) === 1
}

/**
 * Mails the owners of keys that expire soon, at most once per user and day. Returns true if there may be more keys.
 */
export function* noteExpiringKeys(tx: Tx): Op<boolean> {
  const now = yield* tx.now()
  const noted = yield* tx.get(readNoted)
  if (!noted) return false
  const [at = '', id = ''] = noted.value.split(' ')
  const keys = yield* tx.all(expiringKeys, { at: Math.max(Number(at), now), id, until: now + expiringMs })
  for (const { expiresAt, hint, isLive, name, userId } of keys) {
    if (isLive === 0) continue
    const mailId = `mail${userId.slice(userId.indexOf('_'))}_${Math.floor(now / dayMs)}`
    const data = { name, hint, expiresAt: isoTime(expiresAt) }
    tx.send(toUser, draftOf({ id: mailId, kind: 'key.expiring', userId, data, at: now, expiresAt }))
  }
  const last = keys.at(-1)
  if (last) yield* tx.run(moveNoted, { value: `${last.expiresAt} ${last.id}` })
  return keys.length >= keysMax
}

export function* hasDueMail(on: Reads): Op<boolean> {
  return (yield* on.get(anyDue, { now: yield* on.now() })) !== undefined
}

export function* leaseMails(tx: Tx, { leaseMs, limit }: { limit: number; leaseMs: number }): Op<LeasedMail[]> {
  const now = yield* tx.now()
  yield* tx.run(expire, { now })
  const rows = yield* tx.all(lease, { now, until: now + leaseMs, limit })
  return rows.map(({ data, ...mail }) => ({ ...mail, data: JSON.parse(data) as LeasedMail['data'] }))
}

export function* endMail(
  tx: Tx,
  { attempt, id, outcome }: Pick<LeasedMail, 'id' | 'attempt'> & { outcome: MailOutcome },
): Op<void> {
  const of = { id, attempt }
  if (outcome.kind === 'sent') return void (yield* tx.run(end, { ...of, status: 'sent', dueAt: null, error: null }))
  const dueAt = outcome.againInMs === null ? null : (yield* tx.now()) + outcome.againInMs
  yield* tx.run(end, { ...of, status: dueAt === null ? 'failed' : 'pending', dueAt, error: outcome.error })
}

export function* readMailState(on: Reads): Op<MailState> {
  const counted = on.get(counts)
  const last = on.get(lastError)
  return { ...(yield* counted)!, lastError: (yield* last) ?? null }
}

export function listNewestMails(on: Reads, limit: number): Answer<MailRecord[]> {
  return on.all(newest, { limit })
}

export function* purgeMails(tx: Tx, rowsMax: number): Op<number> {
  return yield* tx.run(purge, { until: (yield* tx.now()) - mailsKeptMs, rowsMax })
}

export function sealedMails(on: Reads, of: { afterId: string; limit: number }): Answer<SealedLink[]> {
  return on.all(sealed, of)
}

/** Stores the same link encrypted with another key, if the stored link is still `from`. */
export function* resealMail(tx: Tx, change: { mailId: string; from: string; to: string }): Op<boolean> {
  return (yield* tx.run(reseal, change)) === 1
}
