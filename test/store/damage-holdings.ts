import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { newId } from '../../server/kernel/ids.ts'
import { sendsMail } from '../../server/store/mails/mail-types.ts'
import { openTopup, paid, tell } from './payment-drafts.ts'
import { converse, draftSession } from './session-contract.ts'
import { rates, tokensFor } from './token-drafts.ts'
import type { StoreWorld } from './store-world.ts'
import { begun, settle, spending } from './window-calls.ts'

/** Ids of a user's objects that the SQL of a damage can refer to. */
export type Holdings = {
  userId: string
  completedId: string
  failedId: string
  meteredId: string
  /** A token-priced task. */
  pricedId: string
  /** A task with an idempotency key, a quote, a tag and a `webhookUrl`. */
  namedId: string
  sessionId: string
  /** An expired session with messages. */
  idleSessionId: string
  settledId: string
  openId: string
  keyId: string
  /** A key that was rotated. */
  oldKeyId: string
  newKeyId: string
  tokenId: string
  onceTokenId: string
  platformKeyId: string
  topupId: string
  rechargeId: string
  webhookId: string
}

/** One kind of damage. Each of its statements must change something. */
export type Damage = {
  title: string
  /** Name of the check that must detect it. */
  named: string
  by: (of: Holdings) => string[]
  /** Set if the damaged row names no user. The reported difference then names none either. */
  isOfNobody?: boolean
}

/** Store limits that let a user have all of this. */
export const holdingLimits = { abuseFailures: 10 }

const method = (userId: string) => ({ customerId: `cus_${userId}`, methodId: `pm_${userId}`, methodLabel: 'visa 4242' })

/** Creates a user who has some of everything that the ledger check covers, except what `untilExpired` adds. */
export async function holdingsOf(world: StoreWorld, name: string): Promise<Holdings> {
  const { store } = world
  await store.settings.replace(sendsMail, 'yes')
  const userId = await world.createUser()
  const [webhookId, taskWebhookId] = [newId('hook', world.clock.now()), newId('hook', world.clock.now())]
  const webhook = { userId, description: '', types: null, sealed: 'sealed' }
  await store.webhooks.create({ ...webhook, webhookId, url: 'https://example.com/' })
  await store.webhooks.create({ ...webhook, webhookId: taskWebhookId, url: null })
  const platformKeyId = await creditByPlatform(world, { userId, name })
  await store.changeAccountLimits({ userId, changes: { spendPerDay: 1_000_000 } })
  const key = { name, hint: 'a1b2', scopes: ['execute' as const], expiresAt: null, tokenHash: name, spendLimit: 1000 }
  const { id: keyId } = await store.createKey({ ...key, userId })
  const { id: oldKeyId } = await store.createKey({ ...key, userId, tokenHash: `${name} old` })
  const next = { ...key, userId, tokenHash: `${name} new` }
  const { id: newKeyId } = must(
    await store.rotateKey({ userId, keyId: oldKeyId, oldExpiresAt: world.clock.now() + 1000, key: next }),
    'a live key is rotated',
  )
  const limits = spending(keyId, key.spendLimit)
  // A threshold that the balance never exceeds.
  await store.payments.setNotifyBelow({ userId, notifyBelow: 1_000_000_000 })
  const { id: completedId } = await world.completed(userId, { limits })
  const { id: failedId } = await world.failed(userId, { limits })
  const { attempt, id: meteredId } = await world.processing(userId, { cost: 100, meters: { page: 20 } })
  const response = { text: '{}', payloadId: null }
  await store.completeTask({ taskId: meteredId, attempt, response, usage: { page: 3 } })
  const { attempt: pricedAttempt, id: pricedId } = await world.processing(userId, { cost: 100, rates: [rates] })
  await store.completeTask({ taskId: pricedId, attempt: pricedAttempt, response, tokens: tokensFor(31, '0.003012345') })
  const { id: namedId } = await world.completed(userId, {
    idempotency: { key: 'one', bodyHash: 'a' },
    quoteId: `quote_${name}`,
    tags: { project: name },
    webhookUrl: 'https://example.com/done',
  })
  const { onceTokenId, tokenId } = await spendTokens(world, { userId, name })
  const session = { ...draftSession(world, userId), maxCost: 500 }
  await store.createSession(session)
  const { sessionId } = session
  const settledId = await begun(world, userId, { limits, sessionId })
  await settle(world, settledId, 30)
  const openId = await begun(world, userId, { limits, sessionId, maxCost: 50 })
  const idle = await store.createSession(draftSession(world, userId))
  if (idle.outcome !== 'created') throw new Error(idle.outcome)
  await converse(world, idle.session, 'hello')
  expect(await world.admit(userId, { cost: 1000, limits })).toMatchObject({ outcome: 'refused', reason: 'limit' })
  const { rechargeId, topupId } = await pay(world, userId)
  const leased = await store.webhooks.lease({ wanted: [{ target: webhookId, count: 1 }], leaseMs: 1000 })
  await store.webhooks.end(leased.map((one) => ({ ...one, outcome: { kind: 'succeeded', httpStatus: 204 } })))
  const tasks = { completedId, failedId, meteredId, namedId, pricedId }
  const chats = { sessionId, idleSessionId: idle.session.id, settledId, openId }
  const keys = { keyId, oldKeyId, newKeyId, tokenId, onceTokenId, platformKeyId }
  return { userId, ...tasks, ...chats, ...keys, topupId, rechargeId, webhookId }
}

/** Advances the clock until the sessions have expired, and records that. */
export async function untilExpired(world: StoreWorld): Promise<void> {
  world.clock.advance(90_000_000)
  while (await world.store.noteExpired()) continue
}

async function creditByPlatform(world: StoreWorld, { name, userId }: { name: string; userId: string }) {
  const { platform } = world.store
  // The key is expired, so that it does not count toward the installation's maximum.
  const expiresAt = world.clock.now()
  const key = { name, hint: 'a1b2', addresses: null, creditPerDay: 1000, createdBy: null, expiresAt }
  const { id } = await platform.createKey({ ...key, scopes: ['credit'], tokenHash: `platform ${name}` })
  const credit = { userId, amount: 300, description: '', idempotencyKey: null, platformKeyId: id }
  expect(await world.store.credit(credit)).toMatchObject({ outcome: 'credited' })
  return id
}

async function spendTokens(world: StoreWorld, { name, userId }: { name: string; userId: string }) {
  const { platform } = world.store
  const token = {
    userId,
    scopes: ['execute' as const],
    agents: null,
    sessionId: null,
    taskId: null,
    createdBy: 'key_a',
  }
  const made = { ...token, maxCost: 400, lifeMs: 3_600_000 }
  const { id: tokenId } = await platform.createToken({ ...made, isOnce: false, tokenHash: `token ${name}` })
  const { id: onceTokenId } = await platform.createToken({ ...made, isOnce: true, tokenHash: `once ${name}` })
  await world.completed(userId, { limits: spending(tokenId, 400) })
  await world.completed(userId, { limits: { ...spending(onceTokenId, 400), onceTokenId } })
  return { tokenId, onceTokenId }
}

async function pay(world: StoreWorld, userId: string) {
  const { payments } = world.store
  const topup = await openTopup(world, userId)
  await tell(world, topup, paid(100_000, { method: method(userId) }))
  await tell(world, topup, paid(100_000, { refunded: 10_000 }))
  world.clock.advance(1)
  await tell(world, topup, paid(100_000, { refunded: 10_000, disputed: 5000 }))
  await payments.setRecharge({ userId, recharge: { below: 50_000_000, to: 60_000_000, monthlyMax: 900_000_000 } })
  const rechargeId = newId('top', world.clock.now())
  const begunRecharge = await payments.beginRecharge({
    userId,
    topupId: rechargeId,
    least: 1,
    most: 10_000_000_000,
    monthlyMax: 900_000_000,
  })
  expect(begunRecharge).toMatchObject({ isNew: true })
  return { topupId: topup.id, rechargeId }
}
