import { expect } from 'vitest'
import { actAs } from '../../server/store/audit/audit-commands.ts'
import { platformOwner } from '../../server/store/events/webhook-types.ts'
import { hashToken } from '../../server/auth/keys/api-token.ts'
import { openTopup, paid, tell } from './payment-drafts.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const ada = { kind: 'user', id: 'user_ada', client: '192.0.2.7' } as const

const keyOf = (userId: string, name: string) => ({
  userId,
  name,
  hint: 'abcd',
  scopes: ['read' as const],
  expiresAt: null,
  tokenHash: hashToken(name),
})

async function actions({ store }: StoreWorld, of: { userId?: string } = {}): Promise<string[]> {
  const { acts } = await store.audit.list({ ...of, limit: 100 })
  return acts.map(({ action }) => action)
}

export function describeAudit(contractTest: ContractTest): void {
  contractTest('records who did what from where, and only what happened', async (world) => {
    const { store } = world
    const userId = await world.createUser(0)
    await actAs(
      () => ada,
      async () => {
        const { id: keyId } = await store.createKey(keyOf(userId, 'one'))
        await store.credit({ userId, amount: 100, description: 'a name', idempotencyKey: 'a' })
        await store.credit({ userId, amount: 100, description: 'a name', idempotencyKey: 'a' })
        await store.credit({ userId, amount: -200, description: 'too much', idempotencyKey: null })
        await store.updateUser({ userId, isSuspended: true })
        await store.changeAccountLimits({ userId, plan: 'pro', changes: { tasksAtWork: 2 } })
        await store.updateKey({ userId, keyId, changes: { rateLimit: 5 } })
        await store.revokeKey({ userId, keyId })
        await store.revokeKey({ userId, keyId })
      },
    )
    const { acts } = await store.audit.list({ userId, limit: 100 })
    expect(acts.map(({ action, change }) => [action, JSON.parse(change)]).toReversed()).toEqual([
      ['user.created', { isAdmin: false }],
      ['key.created', { keyId: expect.stringMatching(/^key_/), scopes: ['read'] }],
      ['balance.changed', { transactionId: expect.stringMatching(/^txn_/), amountUsd: '0.0100' }],
      ['user.updated', { isSuspended: true }],
      ['limits.changed', { plan: 'pro', tasksAtWork: 2 }],
      ['key.updated', { keyId: expect.any(String), rateLimit: 5 }],
      ['key.revoked', { keyId: expect.any(String) }],
    ])
    const by = ({ actor, actorId, client }: (typeof acts)[number]) => ({ kind: actor, id: actorId, client })
    expect(by(acts.at(-1)!)).toEqual({ kind: 'service', id: null, client: null })
    for (const act of acts.slice(0, -1)) expect(by(act)).toEqual(ada)
    expect(JSON.stringify(acts)).not.toMatch(/a name|example\.com/)
  })

  contractTest(
    'records logins, passwords, identities, rotated keys, invitations, platform keys and lifted blocks',
    async (world) => {
      const { platform, ...store } = world.store
      const userId = await world.createUser()
      const { email } = (await store.getAccount(userId))!
      const login = { userId, method: 'password', provider: null, userAgent: null, forget: null } as const
      const identity = { issuer: 'https://login.example.com', subject: '1', email, mayCreate: true }
      const link = { kind: 'invitation', isAdmin: false, credit: 100, userId: null, createdBy: 'user_ada' } as const
      const invite = async (name: string) => {
        const expiresAt = world.clock.now() + 1000
        const made = await store.createInvitation({ ...link, email: `${name}@example.com`, tokenHash: name, expiresAt })
        return made.outcome === 'created' ? made.invitation.id : ''
      }
      const { audit } = world.store
      let seen = (await audit.list({ limit: 100 })).acts[0]!.seq
      const expectActs = async (expected: (readonly [string, object])[]) => {
        const acts = (await audit.list({ limit: 100 })).acts.filter(({ seq }) => seq > seen).toReversed()
        seen = acts.at(-1)!.seq
        expect(acts.map(({ action, change }) => [action, JSON.parse(change)])).toEqual(expected)
      }

      const loginId = (await store.createLogin({ ...login, tokenHash: 'one' }))!.id
      for (let time = 0; time < 2; time++) await store.endLogin({ userId, loginId })
      await store.createLogin({ ...login, tokenHash: 'two' })
      for (let time = 0; time < 2; time++) await store.endLogins(userId)
      const created = ['login.created', { loginId: expect.stringMatching(/^login_/), method: 'password' }] as const
      await expectActs([created, ['login.ended', { loginId }], created, ['login.ended', { count: 1 }]])

      for (const from of [null, 'not this one']) {
        await store.setPassword({ userId, from, passwordHash: 'new', keepLoginId: null })
      }
      for (let time = 0; time < 2; time++) await store.openIdentity(identity)
      await store.openIdentity({ ...identity, subject: '2', email: 'new@example.com' })
      await expectActs([
        ['password.changed', {}],
        ['identity.linked', {}],
        ['user.created', {}],
      ])

      const { id: keyId } = await store.createKey(keyOf(userId, 'old'))
      const rotated = { key: keyOf(userId, 'new'), oldExpiresAt: world.clock.now() }
      const { id: newKeyId } = (await store.rotateKey({ userId, keyId, ...rotated }))!
      await store.rotateKey({ userId, keyId: 'key_unknown', ...rotated })
      await expectActs([
        ['key.created', { keyId, scopes: ['read'] }],
        ['key.rotated', { keyId, newKeyId }],
      ])

      const revoked = await invite('revoked')
      for (let time = 0; time < 2; time++) await store.revokeInvitation(revoked)
      const accepted = await invite('accepted')
      for (let time = 0; time < 2; time++) await store.acceptInvitation({ tokenHash: 'accepted', passwordHash: 'hash' })
      const terms = { kind: 'invitation', isAdmin: false, creditUsd: '0.0100' }
      await expectActs([
        ['invitation.created', { invitationId: revoked, ...terms }],
        ['invitation.revoked', { invitationId: revoked }],
        ['invitation.created', { invitationId: accepted, ...terms }],
        ['invitation.accepted', { kind: 'invitation' }],
      ])

      const draft = { name: 'shop', hint: 'abcd', scopes: ['users' as const], addresses: null, creditPerDay: null }
      const { id } = await platform.createKey({ ...draft, createdBy: null, expiresAt: null, tokenHash: 'platform' })
      for (let time = 0; time < 2; time++) await platform.openUser({ externalId: '7', email: null, keyId: id })
      for (let time = 0; time < 2; time++) await platform.revokeKey(id)
      await world.failed(userId)
      for (let time = 0; time < 2; time++) await store.unblock(userId)
      await expectActs([
        ['platform_key.created', { platformKeyId: id, scopes: ['users'] }],
        ['user.created', {}],
        ['platform_key.revoked', { platformKeyId: id }],
        ['user.unblocked', {}],
      ])
    },
    { limits: { abuseFailures: 1 } },
  )

  contractTest('records changes to connectors, webhooks and auto-recharge', async (world) => {
    const { audit, payments, webhooks, ...store } = world.store
    const userId = await world.createUser(0)
    const expectActs = async (work: () => Promise<void>, expected: (readonly [string, object])[]) => {
      const seen = (await audit.list({ limit: 1 })).acts[0]!.seq
      await actAs(() => ada, work)
      const acts = (await audit.list({ limit: 100 })).acts.filter(({ seq }) => seq > seen).toReversed()
      expect(acts.map(({ action, change }) => [action, JSON.parse(change)])).toEqual(expected)
      for (const { actor, actorId, client } of acts) expect({ kind: actor, id: actorId, client }).toEqual(ada)
      return acts
    }
    const twice = async (work: () => Promise<unknown>) => [await work(), await work()]

    const connector = { userId, connectorId: 'conn_1' }
    const server = { name: 'a name', url: 'https://a.example.com/', server: null, sealed: null, allowedTools: null }
    const makeConnector = async () => {
      await twice(() => store.createConnector({ ...connector, ...server, authType: 'none' }))
      await store.updateConnector({ ...connector, changes: { url: 'https://b.example.com/' } })
      await store.updateConnector({ ...connector, changes: { url: 'https://c.example.com/' }, ifUpdatedAt: 1 })
      await twice(() => store.deleteConnector(connector))
    }
    await expectActs(makeConnector, [
      ['connector.created', { connectorId: 'conn_1', authType: 'none' }],
      ['connector.updated', { connectorId: 'conn_1', fields: ['url'] }],
      ['connector.deleted', { connectorId: 'conn_1' }],
    ])

    for (const owner of [userId, platformOwner]) {
      const webhook = { userId: owner, webhookId: `wh_${owner}` }
      const draft = { url: null, description: 'a name', types: null, sealed: 'one' }
      const rotated = { ...webhook, from: 'one', to: 'two', previousUntil: world.clock.now() }
      const makeWebhook = async () => {
        await twice(() => webhooks.create({ ...webhook, ...draft }))
        await webhooks.update({ ...webhook, changes: { isEnabled: false } })
        await twice(() => webhooks.rotate(rotated))
        await twice(() => webhooks.delete(webhook))
        await webhooks.update({ ...webhook, changes: { isEnabled: true } })
      }
      const { webhookId } = webhook
      const acts = await expectActs(makeWebhook, [
        ['webhook.created', { webhookId, types: null }],
        ['webhook.updated', { webhookId, fields: ['isEnabled'] }],
        ['webhook.rotated', { webhookId }],
        ['webhook.deleted', { webhookId }],
      ])
      expect(new Set(acts.map((act) => act.userId))).toEqual(new Set([owner === userId ? userId : null]))
    }

    const recharge = { below: 50_000, to: 250_000, monthlyMax: 450_000 }
    const method = { customerId: 'cus_1', methodId: 'pm_1', methodLabel: 'visa 4242' }
    const changeRecharge = async () => {
      await payments.setRecharge({ userId, recharge })
      await tell(world, await openTopup(world, userId, 1000), paid(1000, { method }))
      await payments.setRecharge({ userId, recharge })
      await payments.setRecharge({ userId, recharge: null })
      await twice(() => payments.forgetMethod({ userId }))
    }
    await expectActs(changeRecharge, [
      ['auto_recharge.changed', { belowUsd: '5.0000', toUsd: '25.0000', monthlyMaxUsd: '45.0000' }],
      ['auto_recharge.changed', { autoRecharge: null }],
      ['payment_method.removed', {}],
    ])
    expect(await world.verify()).toMatchObject({ ok: true })
  })

  contractTest('lists the log by user and action, in pages', async (world) => {
    const [one, other] = [await world.createUser(0), await world.createUser(0)]
    for (let n = 0; n < 5; n++) {
      await world.store.createKey(keyOf(one, `one ${n}`))
      await world.store.createKey(keyOf(other, `other ${n}`))
    }
    const { audit } = world.store
    expect((await audit.list({ userId: one, action: 'key.created', limit: 100 })).acts).toHaveLength(5)
    expect((await audit.list({ action: 'key.created', limit: 100 })).acts).toHaveLength(10)
    expect((await audit.list({ action: 'key.revoked', limit: 100 })).acts).toEqual([])
    const whole = await audit.list({ userId: other, limit: 6 })
    expect(whole.next).toBeUndefined()
    const first = await audit.list({ userId: other, limit: 4 })
    const second = await audit.list({ userId: other, limit: 4, after: first.next! })
    expect([...first.acts, ...second.acts]).toEqual(whole.acts)
    expect(second.next).toBeUndefined()
  })

  contractTest('keeps one chain when many acts happen simultaneously', async (world) => {
    const userIds = await Promise.all(Array.from({ length: 5 }, () => world.createUser(0)))
    const keys = Array.from({ length: 20 }, (_, n) => keyOf(userIds[n % 5]!, `key ${n}`))
    await Promise.all(keys.map((key) => world.store.createKey(key)))
    expect(await actions(world)).toHaveLength(25)
    await world.reopen()
    await world.store.createKey(keyOf(userIds[0]!, 'after'))
    expect(await world.verify()).toMatchObject({ ok: true })
  })

  contractTest(
    'the ledger check finds a change of any column of the audit log',
    async (world) => {
      const userId = await world.createUser(0)
      const changes = [
        "action = 'key.updated'",
        "actor = 'key'",
        "actor_id = 'user_other'",
        "client = '192.0.2.8'",
        "user_id = 'user_other'",
        "change = '{}'",
        'created_at = created_at + 1',
      ]
      await actAs(
        () => ada,
        async () => {
          for (const change of changes) await world.store.createKey(keyOf(userId, change))
        },
      )
      const newest = (back: number) => `(SELECT max(seq) - ${back} FROM audit_log)`
      await world.damage(changes.map((change, n) => `UPDATE audit_log SET ${change} WHERE seq = ${newest(n)}`))
      const { differences } = await world.verify()
      expect(differences.filter(({ what }) => what.startsWith('each row of the audit log'))).toHaveLength(
        changes.length,
      )
    },
    { tampers: true },
  )

  for (const [title, sql] of [
    ['a changed row', "UPDATE audit_log SET change = '{}' WHERE seq = (SELECT min(seq) + 1 FROM audit_log)"],
    ['a changed actor', "UPDATE audit_log SET actor_id = 'user_other' WHERE seq = (SELECT min(seq) FROM audit_log)"],
    ['a removed row', 'DELETE FROM audit_log WHERE seq = (SELECT min(seq) + 1 FROM audit_log)'],
    ['a removed first row', 'DELETE FROM audit_log WHERE seq = (SELECT min(seq) FROM audit_log)'],
    ['a removed last row', 'DELETE FROM audit_log WHERE seq = (SELECT max(seq) FROM audit_log)'],
    ['a removed log', 'DELETE FROM audit_log'],
  ] as const) {
    contractTest(
      `the ledger check finds ${title} of the audit log`,
      async (world) => {
        const userId = await world.createUser(0)
        for (const name of ['one', 'two', 'three']) await world.store.createKey(keyOf(userId, name))
        await world.damage([sql])
        const { differences } = await world.verify()
        expect(differences.map(({ what }) => what)).toEqual(
          expect.arrayContaining([
            expect.stringMatching(/^each row of the audit log|^the newest row of the audit log/),
          ]),
        )
      },
      { tampers: true },
    )
  }
}
