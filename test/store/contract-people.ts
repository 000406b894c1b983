import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'
import { everyone } from './store-world.ts'

export function describePeople(contractTest: ContractTest): void {
  contractTest('a new user has an empty account', async (world) => {
    const created = await world.store.createUser({ email: 'Ann@Example.com', passwordHash: 'hash', isAdmin: true })
    const userId = created.outcome === 'created' ? created.userId : ''
    expect(userId).toMatch(/^user_/)
    const createdAt = world.clock.now()
    const user = {
      id: userId,
      email: 'ann@example.com',
      isAdmin: true,
      createdAt,
      suspendedAt: null,
      externalId: null,
      erasedAt: null,
    }
    expect(await world.store.findUser('ann@example.com')).toEqual(user)
    const account = {
      userId,
      email: 'ann@example.com',
      balance: 0,
      held: 0,
      owed: 0,
      notifyBelow: null,
      blockedUntil: null,
      connectorsBlockedUntil: null,
    }
    expect(await world.store.getAccount(userId)).toEqual(account)
    const listed = { ...user, ...account, writtenOff: 0, plan: null, limits: {}, spent: 0, activeDay: null }
    expect(await world.store.listUsers(everyone)).toEqual({ users: [listed], total: 1 })
  })

  contractTest('email addresses are case-insensitive, and a rejection writes nothing', async (world) => {
    const person = { email: 'Ann@Example.com', passwordHash: null, isAdmin: false }
    await world.store.createUser(person)
    const before = await world.store.listUsers(everyone)
    for (const email of ['ann@example.com', 'ANN@EXAMPLE.COM', 'Ann@Example.com']) {
      const refused = await world.store.createUser({ ...person, email, isAdmin: true })
      expect(refused).toEqual({ outcome: 'refused', reason: 'email-taken' })
      expect(await world.store.findUser(email)).toMatchObject({ email: 'ann@example.com', isAdmin: false })
    }
    expect(await world.store.listUsers(everyone)).toEqual(before)
    expect(await world.store.findUser('bob@example.com')).toBeUndefined()
  })

  contractTest('only one of several parallel creations with the same email succeeds', async (world) => {
    const person = { email: 'ann@example.com', passwordHash: null, isAdmin: false }
    const results = await Promise.all(Array.from({ length: 6 }, () => world.store.createUser(person)))
    expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect(await world.store.listUsers(everyone)).toMatchObject({ total: 1, users: [{ email: 'ann@example.com' }] })
  })

  contractTest('lists users in order of creation', async (world) => {
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      ids.push(await world.createUser(index))
      world.clock.advance(1)
    }
    const { users } = await world.store.listUsers(everyone)
    expect(users.map(({ id, balance }) => [id, balance])).toEqual(ids.map((id, index) => [id, index]))
  })

  contractTest('lists users created in the same millisecond in order of creation', async (world) => {
    const ids: string[] = []
    for (let index = 0; index < 20; index++) ids.push(await world.createUser(0))
    expect((await world.store.listUsers(everyone)).users.map(({ id }) => id)).toEqual(ids)
    expect(await world.store.listUsers({ limit: 3, offset: 7 })).toMatchObject({
      users: ids.slice(7, 10).map((id) => ({ id })),
      total: 20,
    })
  })

  contractTest('searches users by part of the email, case-insensitively and without wildcards', async (world) => {
    const emails = ['ann@example.com', 'Bob@Example.com', '100%@example.org', 'a_b@example.org']
    for (const email of emails) await world.store.createUser({ email, passwordHash: null, isAdmin: false })
    const found = async (search: string) => {
      const { total, users } = await world.store.listUsers({ ...everyone, search })
      expect(total).toBe(users.length)
      return users.map(({ email }) => email)
    }
    expect(await found('EXAMPLE.COM')).toEqual(['ann@example.com', 'bob@example.com'])
    expect(await found('%')).toEqual(['100%@example.org'])
    expect(await found('_')).toEqual(['a_b@example.org'])
    expect(await found('nobody')).toEqual([])
    expect(await found('')).toHaveLength(4)
    const page = await world.store.listUsers({ search: 'example', limit: 1, offset: 2 })
    expect(page).toMatchObject({ users: [{ email: '100%@example.org' }], total: 4 })
  })

  contractTest('lists the users of a plan, and those without a plan as users of the default plan', async (world) => {
    const ids: string[] = []
    for (const plan of ['free', 'pro', null, 'pro']) {
      const userId = await world.createUser(0)
      if (plan !== null) await world.store.changeAccountLimits({ userId, plan, changes: {} })
      ids.push(userId)
    }
    const found = async (plan: string, isDefaultPlan: boolean) => {
      const { total, users } = await world.store.listUsers({ ...everyone, plan, isDefaultPlan })
      expect(total).toBe(users.length)
      return users.map(({ id }) => ids.indexOf(id))
    }
    expect(await found('pro', false)).toEqual([1, 3])
    expect(await found('free', false)).toEqual([0])
    expect(await found('free', true)).toEqual([0, 2])
    expect(await found('gone', false)).toEqual([])
  })

  contractTest('suspending twice keeps the first time, and ending the suspension clears it', async (world) => {
    const userId = await world.createUser()
    const suspendedAt = world.clock.now()
    const read = async () => (await world.store.getUser(userId))?.suspendedAt
    expect(await world.store.updateUser({ userId, isSuspended: true })).toEqual({ outcome: 'updated' })
    world.clock.advance(5)
    await world.store.updateUser({ userId, isSuspended: true })
    await world.store.updateUser({ userId, isAdmin: false })
    expect(await read()).toBe(suspendedAt)
    await world.store.updateUser({ userId, isSuspended: false })
    expect(await read()).toBeNull()
    expect(await world.store.updateUser({ userId: 'user_unknown', isAdmin: true })).toEqual({
      outcome: 'refused',
      reason: 'unknown',
    })
  })

  contractTest('one active admin always remains, even with parallel requests', async (world) => {
    const admins = [await world.createUser(), await world.createUser(), await world.createUser()]
    for (const userId of admins) await world.store.updateUser({ userId, isAdmin: true })
    const [first, second, third] = admins as [string, string, string]
    const refused = { outcome: 'refused', reason: 'last-admin' }
    const atOnce = await Promise.all([
      world.store.updateUser({ userId: first, isAdmin: false }),
      world.store.updateUser({ userId: second, isSuspended: true }),
      world.store.updateUser({ userId: third, isAdmin: false }),
    ])
    expect(atOnce.filter(({ outcome }) => outcome === 'refused')).toEqual([refused])
    const { users } = await world.store.listUsers(everyone)
    expect(users.filter(({ isAdmin, suspendedAt }) => isAdmin && suspendedAt === null)).toHaveLength(1)
    for (const userId of admins) await world.store.updateUser({ userId, isAdmin: true, isSuspended: false })
    expect(await world.store.updateUser({ userId: first, isAdmin: false })).toEqual({ outcome: 'updated' })
    expect(await world.store.updateUser({ userId: second, isSuspended: true })).toEqual({ outcome: 'updated' })
    expect(await world.store.updateUser({ userId: third, isAdmin: false })).toEqual(refused)
    expect(await world.store.updateUser({ userId: third, isSuspended: true })).toEqual(refused)
    expect(await world.store.getUser(third)).toMatchObject({ isAdmin: true, suspendedAt: null })
    // A suspended admin may lose admin rights. After that, the last admin still may not.
    expect(await world.store.updateUser({ userId: second, isAdmin: false })).toEqual({ outcome: 'updated' })
    expect(await world.store.updateUser({ userId: third, isAdmin: false })).toEqual(refused)
    expect(await world.store.updateUser({ userId: third, isAdmin: true, isSuspended: false })).toEqual({
      outcome: 'updated',
    })
    await world.store.updateUser({ userId: first, isAdmin: true })
    expect(await world.store.updateUser({ userId: third, isAdmin: false })).toEqual({ outcome: 'updated' })
  })

  contractTest("a key lookup returns the user's current rights and suspension", async (world) => {
    const [userId, admin] = [await world.createUser(), await world.createUser()]
    await world.store.updateUser({ userId: admin, isAdmin: true })
    const key = { userId, name: 'k', hint: 'a1b2', scopes: ['read' as const], expiresAt: null, tokenHash: 'of a key' }
    await world.store.createKey(key)
    const find = () => world.store.findKey('of a key')
    expect(await find()).toMatchObject({ isAdmin: false, suspendedAt: null })
    await world.store.updateUser({ userId, isAdmin: true, isSuspended: true })
    expect(await find()).toMatchObject({ isAdmin: true, suspendedAt: world.clock.now() })
    await world.store.updateUser({ userId, isAdmin: false, isSuspended: false })
    expect(await find()).toMatchObject({ isAdmin: false, suspendedAt: null })
  })

  contractTest('counts pending and running tasks, but not ended ones', async (world) => {
    const userId = await world.createUser()
    const idle = { pendingTasks: 0, processingTasks: 0, openTurns: 0, users: 1, suspendedUsers: 0 }
    expect(await world.store.readState()).toMatchObject(idle)
    await world.pending(userId)
    const ids = [await world.processing(userId), await world.processing(userId)]
    await world.completed(userId)
    await world.failed(userId)
    const suspended = await world.createUser()
    await world.store.updateUser({ userId: suspended, isSuspended: true })
    const busy = { pendingTasks: 1, processingTasks: 2, openTurns: 0, users: 2, suspendedUsers: 1 }
    expect(await world.store.readState()).toMatchObject(busy)
    for (const { attempt, id: taskId } of ids) {
      await world.store.completeTask({ taskId, attempt, response: { text: '{}', payloadId: null } })
    }
    expect(await world.store.readState()).toMatchObject({ ...busy, processingTasks: 0 })
  })

  contractTest('an unknown user has no account and empty lists', async (world) => {
    const userId = 'user_unknown'
    expect(await world.store.getAccount(userId)).toBeUndefined()
    expect(await world.everything(userId)).toMatchObject({
      list: { total: 0 },
      transactions: { total: 0 },
      keys: { total: 0 },
      rate: { used: 0 },
    })
  })
}
