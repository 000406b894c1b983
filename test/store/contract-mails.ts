import { expect } from 'vitest'
import { sendsMail, type LeasedMail, type MailOutcome } from '../../server/store/mails/mail-types.ts'
import type { StoreWorld } from './store-world.ts'
import type { ContractTest } from './store-contract.ts'

const hourMs = 3_600_000
const lease = { limit: 10, leaseMs: 1000 }
let made = 0

async function turnOn(world: StoreWorld): Promise<void> {
  await world.store.settings.replace(sendsMail, 'yes')
}

/** Records a mail by an invitation. */
async function invite(world: StoreWorld, expiresInMs = hourMs): Promise<string> {
  const mailId = `mail_${++made}`
  const person = { kind: 'invitation', email: `new-${made}@example.com`, isAdmin: false, credit: 0 } as const
  const link = { tokenHash: mailId, userId: null, createdBy: 'user_admin', expiresAt: world.clock.now() + expiresInMs }
  await world.store.createInvitation({ ...person, ...link, mail: { mailId, sealed: 'sealed' } })
  return mailId
}

const ids = (mails: readonly LeasedMail[]) => mails.map(({ id }) => id)
const end = (world: StoreWorld, { attempt, id }: LeasedMail, outcome: MailOutcome) =>
  world.store.mails.end({ id, attempt, outcome })

export function describeMails(contractTest: ContractTest): void {
  contractTest('a mail is leased to one sender at a time, oldest first, until it has ended', async (world) => {
    await turnOn(world)
    const first = await invite(world)
    world.clock.advance(1)
    const second = await invite(world)
    const { mails } = world.store
    const taken = await Promise.all([1, 2, 3].map(() => mails.lease({ ...lease, limit: 1 })))
    expect(taken.flatMap(ids).toSorted()).toEqual([first, second].toSorted())
    expect(await mails.lease(lease)).toEqual([])
    const [one, two] = taken.flat()
    await end(world, one!, { kind: 'sent' })
    await end(world, two!, { kind: 'failed', error: 'Busy', againInMs: 5000 })
    expect(await mails.readState()).toMatchObject({ pending: 1, failed: 0, lastError: { error: 'Busy' } })
    world.clock.advance(4999)
    expect(await mails.lease(lease)).toEqual([])
    world.clock.advance(1)
    const [again] = await mails.lease(lease)
    expect(again).toMatchObject({ id: two!.id, attempt: 2, sealed: 'sealed' })
    await end(world, again!, { kind: 'failed', error: 'No such person', againInMs: null })
    expect(await mails.readState()).toMatchObject({ pending: 0, failed: 1, lastError: { error: 'No such person' } })
    world.clock.advance(hourMs / 2)
    expect(await mails.lease(lease)).toEqual([])
  })

  contractTest('an encrypted link can be re-encrypted until its mail is sent', async (world) => {
    await turnOn(world)
    const mailId = await invite(world)
    const { mails } = world.store
    expect(await mails.sealed({ afterId: '', limit: 10 })).toEqual([{ id: mailId, sealed: 'sealed' }])
    expect(await mails.reseal({ mailId, from: 'another', to: 'lost' })).toBe(false)
    expect(await mails.reseal({ mailId, from: 'sealed', to: 'resealed' })).toBe(true)
    const [mail] = await mails.lease(lease)
    expect(mail).toMatchObject({ id: mailId, sealed: 'resealed' })
    await end(world, mail!, { kind: 'sent' })
    expect(await mails.sealed({ afterId: '', limit: 10 })).toEqual([])
    expect(await mails.reseal({ mailId, from: 'resealed', to: 'late' })).toBe(false)
  })

  contractTest(
    'after a sender died, another sends the mail, and the outcome of the first is ignored',
    async (world) => {
      await turnOn(world)
      await invite(world)
      const { mails } = world.store
      const [lost] = await mails.lease(lease)
      world.clock.advance(lease.leaseMs)
      await world.reopen()
      const [found] = await world.store.mails.lease(lease)
      expect(found).toMatchObject({ id: lost!.id, attempt: 2 })
      await end(world, lost!, { kind: 'failed', error: 'Late', againInMs: null })
      expect(await world.store.mails.readState()).toEqual({ pending: 1, failed: 0, lastError: null })
      await end(world, found!, { kind: 'sent' })
      await end(world, found!, { kind: 'failed', error: 'Late', againInMs: 0 })
      expect(await world.store.mails.readState()).toEqual({ pending: 0, failed: 0, lastError: null })
    },
  )

  contractTest('a mail is not sent after it expired, and is removed after four days', async (world) => {
    await turnOn(world)
    await invite(world)
    world.clock.advance(hourMs)
    expect(await world.store.mails.lease(lease)).toEqual([])
    const error = 'The email could not be sent in time.'
    expect(await world.store.mails.readState()).toMatchObject({ pending: 0, failed: 1, lastError: { error } })
    world.clock.advance(95 * hourMs - 1)
    await world.purge()
    expect(await world.store.mails.readState()).toMatchObject({ failed: 1 })
    world.clock.advance(1)
    await world.purge()
    expect(await world.store.mails.readState()).toEqual({ pending: 0, failed: 0, lastError: null })
  })

  contractTest('expired mails are never leased, however many there are', async (world) => {
    await turnOn(world)
    await Promise.all(Array.from({ length: 505 }, () => invite(world)))
    world.clock.advance(hourMs)
    expect(await world.store.mails.lease(lease)).toEqual([])
  })

  contractTest(
    'ten password links are mailed a day, whatever else is mailed, and none without a mail',
    async (world) => {
      await turnOn(world)
      const { store } = world
      const email = 'forgetful@example.com'
      const created = await store.createUser({ email, passwordHash: 'hash', isAdmin: false })
      const userId = created.outcome === 'created' ? created.userId : ''
      for (let n = 0; n < 10; n++) {
        await store.payments.setNotifyBelow({ userId, notifyBelow: 100 })
        for (const amount of [200, -200]) await store.credit({ userId, amount, description: '', idempotencyKey: null })
      }
      const request = (n: number) => {
        const expiresAt = world.clock.now() + hourMs
        const mail = { mailId: `mail_link_${n}`, sealed: 'sealed' }
        const of = { email, client: `192.0.2.${n}`, tokenHash: `link ${n}`, expiresAt, mail }
        return store.mails.requestPasswordLink(of)
      }
      for (let n = 0; n < 10; n++) expect(await request(n)).toEqual({ outcome: 'admitted', userId })
      expect(await request(10)).toEqual({ outcome: 'admitted', userId: null })
      expect((await store.mails.readState()).pending).toBe(20)
      expect(await store.findInvitation('link 9')).toMatchObject({ userId })
      expect(await store.findInvitation('link 10')).toBeUndefined()
    },
  )

  contractTest('a rejected command records no mail, and neither does a service without mail', async (world) => {
    await invite(world)
    expect(await world.store.mails.readState()).toMatchObject({ pending: 0 })
    await turnOn(world)
    await world.createUser()
    const { users } = await world.store.listUsers({ limit: 1, offset: 0 })
    const person = { kind: 'invitation', email: users[0]!.email, isAdmin: false, credit: 0 } as const
    const link = { tokenHash: 'taken', userId: null, createdBy: 'user_admin', expiresAt: world.clock.now() + hourMs }
    const mail = { mailId: 'mail_taken', sealed: 'sealed' }
    expect(await world.store.createInvitation({ ...person, ...link, mail })).toMatchObject({ outcome: 'refused' })
    expect(await world.store.mails.readState()).toMatchObject({ pending: 0 })
  })

  contractTest('expiring keys are found in pages, also if many expire at the same time', async (world) => {
    await turnOn(world)
    const userIds = [await world.createUser(0), await world.createUser(0)]
    const expiresAt = world.clock.now() + hourMs
    const key = { name: 'old', hint: 'abcd', scopes: ['read' as const], expiresAt }
    for (let n = 0; n < 505; n++) {
      await world.store.createKey({ ...key, userId: userIds[n < 500 ? 0 : 1]!, tokenHash: `many ${n}` })
    }
    expect(await world.store.mails.noteExpiringKeys()).toBe(true)
    expect(await world.store.mails.noteExpiringKeys()).toBe(false)
    const mails = await world.store.mails.lease(lease)
    expect(mails).toHaveLength(2)
    expect(mails[0]).toMatchObject({ kind: 'key.expiring', data: { name: 'old', hint: 'abcd' }, sealed: null })
  })
}
