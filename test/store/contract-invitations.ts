import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import type { CreateInvitation, InvitationRecord } from '../../server/store/access/people-types.ts'
import { everyone, type StoreWorld } from './store-world.ts'
import type { ContractTest } from './store-contract.ts'

const dayMs = 86_400_000
let hashes = 0

function draftInvitation(world: StoreWorld, changes: Partial<CreateInvitation> = {}): CreateInvitation {
  return {
    kind: 'invitation',
    email: 'ada@example.com',
    isAdmin: false,
    credit: 0,
    expiresAt: world.clock.now() + 7 * dayMs,
    tokenHash: `invitation ${++hashes}`,
    userId: null,
    createdBy: 'user_admin',
    ...changes,
  }
}

async function invite(world: StoreWorld, draft: CreateInvitation): Promise<InvitationRecord> {
  const created = await world.store.createInvitation(draft)
  if (created.outcome === 'refused') throw new Error(created.reason)
  return created.invitation
}

function accept(world: StoreWorld, { tokenHash }: CreateInvitation, passwordHash = 'hash') {
  return world.store.acceptInvitation({ tokenHash, passwordHash })
}

const unknown = { outcome: 'refused', reason: 'unknown' }

export function describeInvitations(contractTest: ContractTest): void {
  contractTest('accepting an invitation creates the account, its credit and its rights, only once', async (world) => {
    const draft = draftInvitation(world, { email: 'Ada@Example.com', isAdmin: true, credit: 123_456 })
    const invitation = await invite(world, draft)
    expect(invitation).toEqual({
      id: expect.stringMatching(/^inv_/),
      kind: 'invitation',
      email: 'ada@example.com',
      isAdmin: true,
      credit: 123_456,
      createdAt: world.clock.now(),
      expiresAt: draft.expiresAt,
      acceptedAt: null,
    })
    expect(await world.store.findInvitation(draft.tokenHash)).toMatchObject(invitation)
    world.clock.advance(5)
    const accepted = await accept(world, draft)
    const userId = accepted.outcome === 'accepted' ? accepted.userId : ''
    expect(accepted).toEqual({ outcome: 'accepted', userId, kind: 'invitation' })
    expect(await world.store.getUser(userId)).toMatchObject({
      email: 'ada@example.com',
      isAdmin: true,
      passwordHash: 'hash',
      balance: 123_456,
      createdAt: world.clock.now(),
    })
    expect(await world.store.listTransactions({ userId, limit: 10, offset: 0 })).toMatchObject({
      transactions: [{ type: 'credit', amount: 123_456, balanceAfter: 123_456 }],
      total: 1,
    })
    expect(await accept(world, draft)).toEqual(unknown)
    expect(await world.store.findInvitation(draft.tokenHash)).toBeUndefined()
    expect(await world.store.listInvitations(everyone)).toEqual({
      invitations: [{ ...invitation, acceptedAt: world.clock.now() }],
      total: 1,
    })
  })

  contractTest(
    'parallel uses of an invitation create one account, without a transaction for zero credit',
    async (world) => {
      const draft = draftInvitation(world)
      await invite(world, draft)
      const results = await Promise.all(Array.from({ length: 5 }, () => accept(world, draft)))
      expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(1)
      const { total, users } = await world.store.listUsers(everyone)
      expect(total).toBe(1)
      expect((await world.store.listTransactions({ userId: users[0]!.id, limit: 10, offset: 0 })).total).toBe(0)
    },
  )

  contractTest('rejects an email address in use, both when inviting and when accepting', async (world) => {
    const draft = draftInvitation(world, { credit: 500 })
    await invite(world, draft)
    await world.store.createUser({ email: 'ada@example.com', passwordHash: null, isAdmin: false })
    const taken = { outcome: 'refused', reason: 'email-taken' }
    expect(await accept(world, draft)).toEqual(taken)
    expect(await world.store.createInvitation(draftInvitation(world, { email: 'ADA@example.com' }))).toEqual(taken)
    expect(await world.store.listUsers(everyone)).toMatchObject({ total: 1, users: [{ balance: 0 }] })
  })

  contractTest('a new link replaces only the open link for the same purpose and email', async (world) => {
    const userId = await world.createUser()
    const { email } = must(await world.store.getAccount(userId), 'an account')
    const used = draftInvitation(world, { kind: 'password', email, userId })
    await invite(world, used)
    expect(await accept(world, used)).toMatchObject({ outcome: 'accepted', kind: 'password', userId })
    const drafts = [
      draftInvitation(world),
      draftInvitation(world, { email: 'Ada@example.com' }),
      draftInvitation(world, { email: 'bob@example.com' }),
      draftInvitation(world, { kind: 'password', email, userId }),
      draftInvitation(world, { kind: 'password', email, userId }),
    ]
    for (const draft of drafts) await invite(world, draft)
    const found = await Promise.all(drafts.map(({ tokenHash }) => world.store.findInvitation(tokenHash)))
    expect(found.map((one) => one !== undefined)).toEqual([false, true, true, false, true])
    expect((await world.store.listInvitations(everyone)).total).toBe(4)
  })

  contractTest('an invitation is valid only before its expiry time', async (world) => {
    const draft = draftInvitation(world, { expiresAt: world.clock.now() + 10 })
    await invite(world, draft)
    world.clock.advance(9)
    expect(await world.store.findInvitation(draft.tokenHash)).toMatchObject({ email: draft.email })
    world.clock.advance(1)
    expect(await world.store.findInvitation(draft.tokenHash)).toBeUndefined()
    expect(await accept(world, draft)).toEqual(unknown)
    expect((await world.store.listUsers(everyone)).total).toBe(0)
  })

  contractTest('revoking ends only the given invitation, if it is still open', async (world) => {
    const [open, used, other] = ['a', 'b', 'c'].map((name) =>
      draftInvitation(world, { email: `${name}@example.com` }),
    ) as [CreateInvitation, CreateInvitation, CreateInvitation]
    const ids = new Map<CreateInvitation, string>()
    for (const draft of [open, used, other]) ids.set(draft, (await invite(world, draft)).id)
    await accept(world, used)
    expect(await world.store.revokeInvitation(ids.get(open)!)).toBe(true)
    expect(await world.store.revokeInvitation(ids.get(open)!)).toBe(false)
    expect(await world.store.revokeInvitation(ids.get(used)!)).toBe(false)
    expect(await world.store.revokeInvitation('inv_unknown')).toBe(false)
    expect(await accept(world, open)).toEqual(unknown)
    expect((await world.store.listInvitations(everyone)).invitations.map(({ email }) => email)).toEqual([
      'c@example.com',
      'b@example.com',
    ])
  })

  contractTest("a password link sets the password and ends the user's logins, unless suspended", async (world) => {
    const [userId, otherId] = [await world.createUser(), await world.createUser()]
    const admin = await world.store.createUser({ email: 'admin@example.com', passwordHash: null, isAdmin: true })
    expect(admin.outcome).toBe('created')
    const login = { method: 'password', provider: null, userAgent: null, forget: null } as const
    await world.store.createLogin({ ...login, userId, tokenHash: 'login of the user' })
    await world.store.createLogin({ ...login, userId: otherId, tokenHash: 'login of another' })
    const { email } = must(await world.store.getAccount(userId), 'an account')
    const draft = draftInvitation(world, { kind: 'password', email, userId, isAdmin: true, credit: 5 })
    await invite(world, draft)

    await world.store.updateUser({ userId: otherId, isSuspended: false })
    await world.store.updateUser({ userId, isSuspended: true })
    expect(await accept(world, draft)).toEqual({ outcome: 'refused', reason: 'suspended' })
    await world.store.updateUser({ userId, isSuspended: false })
    await world.store.createLogin({ ...login, userId, tokenHash: 'a later login' })
    const before = must(await world.store.getUser(userId), 'a user')
    const attempt = { email, client: '192.0.2.7' }
    for (let n = 0; n < 10; n++) expect(await world.store.admitLogin(attempt)).toMatchObject({ outcome: 'admitted' })
    expect(await world.store.admitLogin(attempt)).toMatchObject({ outcome: 'refused' })
    expect(await accept(world, draft, 'new')).toEqual({ outcome: 'accepted', userId, kind: 'password' })
    // A new password changes neither the user's rights nor the balance.
    expect(await world.store.getUser(userId)).toEqual({ ...before, passwordHash: 'new' })
    expect(await world.store.findLogin('a later login')).toBeUndefined()
    expect(await world.store.findLogin('login of another')).toMatchObject({ userId: otherId })
    expect(await world.store.admitLogin(attempt)).toMatchObject({ outcome: 'admitted' })
    expect(await accept(world, draft, 'again')).toEqual(unknown)
  })

  contractTest('lists invitations newest first, in pages, with a total', async (world) => {
    const ids: string[] = []
    // Creates two invitations per millisecond.
    for (let index = 0; index < 6; index++) {
      ids.unshift((await invite(world, draftInvitation(world, { email: `p${index}@example.com` }))).id)
      world.clock.advance(index % 2)
    }
    const listed = async (limit: number, offset: number) => {
      const { invitations, total } = await world.store.listInvitations({ limit, offset })
      return [total, invitations.map(({ id }) => id)]
    }
    expect(await listed(10, 0)).toEqual([6, ids])
    expect(await listed(2, 3)).toEqual([6, ids.slice(3, 5)])
  })

  contractTest('deletes an invitation 90 days after its expiry, accepted or not', async (world) => {
    const [open, used] = [draftInvitation(world), draftInvitation(world, { email: 'used@example.com' })]
    await invite(world, open)
    await invite(world, used)
    await accept(world, used)
    world.clock.advance(97 * dayMs - 1)
    const later = draftInvitation(world, { email: 'later@example.com' })
    await invite(world, later)
    expect(await world.store.purgeExpired()).toBe(false)
    expect((await world.store.listInvitations(everyone)).total).toBe(3)
    world.clock.advance(1)
    expect(await world.store.purgeExpired()).toBe(false)
    expect((await world.store.listInvitations(everyone)).invitations).toMatchObject([{ email: 'later@example.com' }])
    expect((await world.store.listUsers(everyone)).total).toBe(1)
  })

  contractTest('suspending a user or removing admin rights revokes the open links they created', async (world) => {
    await world.store.createUser({ email: 'admin@example.com', passwordHash: null, isAdmin: true })
    for (const change of [{ isSuspended: true }, { isAdmin: false }]) {
      const userId = await world.createUser()
      await world.store.updateUser({ userId, isAdmin: true })
      const own = draftInvitation(world, { email: `${userId}@example.com`, createdBy: userId })
      const used = draftInvitation(world, { email: `used-${userId}@example.com`, createdBy: userId })
      const others = draftInvitation(world, { email: `other-${userId}@example.com` })
      for (const draft of [own, used, others]) await invite(world, draft)
      await accept(world, used)
      expect(await world.store.updateUser({ userId, ...change })).toEqual({ outcome: 'updated' })
      expect(await accept(world, own)).toEqual(unknown)
      expect(await world.store.findInvitation(others.tokenHash)).toBeDefined()
      const { invitations } = await world.store.listInvitations(everyone)
      expect(invitations.filter(({ email }) => email.includes(userId)).map(({ email }) => email)).toEqual([
        others.email,
        used.email,
      ])
    }
  })
}
