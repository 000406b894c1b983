import { expect } from 'vitest'
import { hashToken } from '../../server/auth/keys/api-token.ts'
import { holdingLimits, holdingsOf } from './damage-holdings.ts'
import { openTopup, paid, tell } from './payment-drafts.ts'
import { converse, draftTurn, finished, opened } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'
import { settle } from './window-calls.ts'

const all = { limit: 1000, offset: 0 }
const dayMs = 86_400_000

async function erased(world: StoreWorld, userId: string): Promise<void> {
  const { erasure } = world.store
  expect(await erasure.erase({ userId, forfeit: await world.balance(userId) })).toMatchObject({ outcome: 'erased' })
}

async function finish({ store: { erasure } }: StoreWorld, userId: string): Promise<number> {
  let steps = 0
  while (await erasure.eraseMore(userId)) if (++steps > 1000) throw new Error('The erasure does not end.')
  return steps
}

export function describeErasure(contractTest: ContractTest): void {
  contractTest(
    'erases the contents, credentials and name of a user, and keeps the ledger',
    async (world) => {
      const { store } = world
      const other = await world.createUser()
      const { id: otherTask } = await world.completed(other, { tags: { project: 'one' } })
      const { openId, rechargeId, topupId, userId } = await holdingsOf(world, 'one')
      await settle(world, openId, 30)
      await tell(world, { id: rechargeId } as never, { status: 'expired' })
      await tell(world, { id: topupId } as never, paid(100_000, { refunded: 10_000 }))
      await store.payments.noteCheckout({ userId, topupId, checkoutId: 'cs_1', checkoutUrl: 'https://pay.example.com' })
      const email = (await store.getUser(userId))!.email
      const invited = { kind: 'password', email, isAdmin: false, credit: 0, createdBy: userId, userId } as const
      await store.createInvitation({ ...invited, expiresAt: world.clock.now() + dayMs, tokenHash: 'invitation' })
      const identity = { issuer: 'https://id.example.com', subject: '7', email, mayCreate: false }
      expect(await store.openIdentity(identity)).toMatchObject({ outcome: 'linked', userId })
      const { methodId } = await store.payments.getAccount(userId)
      const forfeit = await world.balance(userId)
      const refused = { outcome: 'refused', reason: 'saved-method', methodId }
      expect(await store.erasure.erase({ userId, forfeit })).toEqual(refused)
      // Another method was saved since the caller decided to leave one.
      expect(await store.erasure.erase({ userId, forfeit, leaveMethodId: 'pm_other' })).toEqual(refused)
      expect(await store.payments.forgetMethod({ userId, methodId: 'pm_other' })).toBeNull()
      expect(await store.erasure.erase({ userId, forfeit })).toEqual(refused)
      expect(await store.payments.forgetMethod({ userId, methodId: methodId! })).toBe(methodId)
      const before = await world.everything(userId)
      const balance = await world.balance(userId)
      await erased(world, userId)

      const user = (await store.getUser(userId))!
      expect(user).toMatchObject({
        email: `erased-${userId}@users.invalid`,
        passwordHash: null,
        externalId: null,
        erasedAt: world.clock.now(),
        suspendedAt: world.clock.now(),
        balance: 0,
        notifyBelow: null,
      })
      expect(await store.findUser(email)).toBeUndefined()
      expect(await store.findInvitation('invitation')).toBeUndefined()
      expect(await store.erasure.inProgress()).toEqual([userId])
      await finish(world, userId)
      expect(await store.erasure.inProgress()).toEqual([])

      const after = await world.everything(userId)
      const contents = { request: { text: '{}', payloadId: null }, response: null, progress: null }
      for (const task of after.tasks) expect(task).toMatchObject({ ...contents, prunedAt: world.clock.now() })
      for (const task of after.tasks) expect(task.tags ?? null).toBeNull()
      const money = ({ cost, givenBack, id, status, usage }: (typeof after.tasks)[number]) => [
        id,
        status,
        cost,
        givenBack,
        usage,
      ]
      expect(after.tasks.map(money)).toEqual(before.tasks.map(money))
      const [written, ...transactions] = after.transactions.transactions
      expect(written).toMatchObject({ type: 'adjustment', amount: -balance, balanceAfter: 0 })
      expect(transactions).toEqual(before.transactions.transactions)
      expect(after.keys.keys).toEqual([])
      expect(await store.listSessions({ userId, ...all })).toMatchObject({ sessions: [], total: 0 })
      expect(await store.webhooks.list(userId)).toEqual([])
      expect(await store.payments.getAccount(userId)).toMatchObject({ customerId: null, methodLabel: null })
      expect(await store.payments.getTopup({ userId, topupId })).toMatchObject({ status: 'paid', checkoutUrl: null })
      expect(await store.openIdentity(identity)).toMatchObject({ outcome: 'refused', reason: 'no-account' })
      expect(await store.createUser({ email, passwordHash: null, isAdmin: false })).toMatchObject({
        outcome: 'created',
      })
      expect(await world.read(other, otherTask)).toMatchObject({ prunedAt: null, tags: { project: 'one' } })
      const { acts } = await store.audit.list({ userId, action: 'user.erased', limit: 9 })
      expect(acts.map(({ change }) => JSON.parse(change))).toEqual([{ forfeitedUsd: (balance / 10_000).toFixed(4) }])
    },
    { limits: holdingLimits },
  )

  contractTest(
    'erases in small steps that continue after a restart, also tasks that were pruned before',
    async (world) => {
      const userId = await world.createUser(1_000_000)
      const tags = { order: '7' }
      for (let n = 0; n < 250; n++) await world.completed(userId, { tags, webhookUrl: 'https://a.example.com/' })
      world.clock.advance(dayMs + 1)
      await world.store.prune()
      const sessions = [await opened(world, userId), await opened(world, userId)]
      for (const session of sessions) await converse(world, session, 'hello')
      await erased(world, userId)
      expect(await world.store.erasure.eraseMore(userId)).toBe(true)
      await world.reopen()
      expect(await world.verify()).toMatchObject({ ok: true })
      expect(await world.store.erasure.inProgress()).toEqual([userId])
      expect(await finish(world, userId)).toBeGreaterThan(0)
      const { tasks } = await world.everything(userId)
      expect(tasks).toHaveLength(250)
      for (const task of tasks) expect(task).toMatchObject({ request: { text: '{}' }, response: null })
      expect(await world.store.listTasks({ userId, tags: ['order:7'], ...all })).toMatchObject({ tasks: [] })
      expect(await world.store.erasure.inProgress()).toEqual([])
    },
    { limits: { retention: { tasksMs: dayMs } } },
  )

  contractTest('a task that was admitted during the erasure is erased after it has ended', async (world) => {
    const userId = await world.createUser(0)
    await erased(world, userId)
    const late = await world.processing(userId, { cost: 0 })
    await finish(world, userId)
    expect(await world.store.erasure.inProgress()).toEqual([userId])
    const response = { text: '{"a":1}', payloadId: null }
    expect(await world.store.completeTask({ taskId: late.id, attempt: late.attempt, response })).toBe(true)
    await finish(world, userId)
    expect(await world.read(userId, late.id)).toMatchObject({ request: { text: '{}' }, response: null })
    expect(await world.store.erasure.inProgress()).toEqual([])
  })

  contractTest(
    'rejects the erasure of a user with open work, debt, payments or a balance, and writes nothing',
    async (world) => {
      const { store } = world
      const refused = async (userId: string, refusal: object, forfeit?: number) => {
        const read = async () => ({ ...(await world.everything(userId)), user: await store.getUser(userId) })
        const before = await read()
        const given = forfeit ?? (await world.balance(userId))
        expect(await store.erasure.erase({ userId, forfeit: given })).toEqual({ outcome: 'refused', ...refusal })
        expect(await read()).toEqual(before)
        expect(await store.erasure.inProgress()).toEqual([])
      }
      expect(await store.erasure.erase({ userId: 'user_unknown', forfeit: 0 })).toMatchObject({ reason: 'unknown' })
      const queued = await world.createUser()
      await world.pending(queued)
      await refused(queued, { reason: 'open-work' })
      const running = await world.createUser()
      await world.processing(running)
      await refused(running, { reason: 'open-work' })
      const chatting = await world.createUser()
      const turn = draftTurn(world, await opened(world, chatting))
      await store.openTurn(turn)
      await refused(chatting, { reason: 'open-work' })
      await store.settleTurn(finished(turn.turnId, 'hello'))

      const rich = await world.createUser(500)
      await refused(rich, { reason: 'balance', amount: 500 }, 0)
      await refused(rich, { reason: 'balance', amount: 500 }, 501)
      const payer = await world.createUser(0)
      const topup = await openTopup(world, payer, 1000)
      await refused(payer, { reason: 'open-topup' })
      await tell(world, topup, paid(1000))
      await tell(world, topup, paid(1000, { disputed: 1000 }))
      await refused(payer, { reason: 'dispute' })
      await tell(world, topup, paid(1000))
      await store.credit({ userId: payer, amount: -400, description: '', idempotencyKey: null })
      await tell(world, topup, paid(1000, { refunded: 1000 }))
      await refused(payer, { reason: 'debt', amount: 400 })
      await store.credit({ userId: payer, amount: 400, description: '', idempotencyKey: null })
      await erased(world, payer)
    },
  )

  contractTest('a payment that arrives after the erasure saves no payment method', async (world) => {
    const { payments } = world.store
    const userId = await world.createUser(0)
    const topup = await openTopup(world, userId, 1000)
    await tell(world, topup, { status: 'expired' })
    await erased(world, userId)
    const method = { customerId: 'cus_1', methodId: 'pm_1', methodLabel: 'visa 4242' }
    await tell(world, topup, paid(1000, { method }))
    expect(await world.balance(userId)).toBe(1000)
    expect(await payments.getAccount(userId)).toMatchObject({ methodId: null, customerId: null })
    await finish(world, userId)
    expect(await payments.getAccount(userId)).toMatchObject({ methodId: null, customerId: null })
  })

  contractTest('the last admin cannot be erased, and platform keys cannot erase admins', async (world) => {
    const { store } = world
    const userId = await world.createUser(0)
    await store.updateUser({ userId, isAdmin: true })
    for (const { id } of (await store.listUsers(all)).users) {
      if (id !== userId) await store.updateUser({ userId: id, isAdmin: false })
    }
    const refused = { outcome: 'refused', reason: 'last-admin' }
    expect(await store.erasure.erase({ userId, forfeit: 0 })).toEqual(refused)
    const asPlatform = await store.erasure.erase({ userId, forfeit: 0, withoutAdmins: true })
    expect(asPlatform).toEqual({ outcome: 'refused', reason: 'unknown' })
    const second = await world.createUser(0)
    await store.updateUser({ userId: second, isAdmin: true })
    const both = [userId, second].map((id) => store.erasure.erase({ userId: id, forfeit: 0 }))
    expect((await Promise.all(both)).map(({ outcome }) => outcome).toSorted()).toEqual(['erased', 'refused'])
  })

  contractTest('an erased user has no credentials, cannot be resumed, and is erased only once', async (world) => {
    const { store } = world
    const { userId } = (await store.platform.openUser({ externalId: 'ada', email: null, keyId: null })) as {
      userId: string
    }
    const key = { name: 'a', hint: 'abcd', scopes: ['read' as const], expiresAt: null, tokenHash: hashToken('a') }
    await store.createKey({ ...key, userId })
    await erased(world, userId)
    expect(await store.findKey(key.tokenHash)).toMatchObject({ suspendedAt: world.clock.now() })
    expect(
      await store.createLogin({ userId, method: 'password', provider: null, tokenHash: 'b', userAgent: null } as never),
    ).toBeUndefined()
    await finish(world, userId)
    expect(await store.findKey(key.tokenHash)).toBeUndefined()
    expect(await store.updateUser({ userId, isSuspended: false })).toEqual({ outcome: 'refused', reason: 'erased' })
    expect(await store.erasure.erase({ userId, forfeit: 0 })).toEqual({ outcome: 'already-erased' })
    const again = await store.platform.openUser({ externalId: 'ada', email: null, keyId: null })
    expect(again).toMatchObject({ outcome: 'created' })
  })
}
