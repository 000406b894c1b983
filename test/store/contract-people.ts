import { expect } from 'vitest'
import type { ContractTest } from './store-contract.ts'

export function describePeople(contractTest: ContractTest): void {
  contractTest('a new user has an empty account', async (world) => {
    const created = await world.store.createUser({ email: 'Ann@Example.com', passwordHash: 'hash', isAdmin: true })
    const userId = created.outcome === 'created' ? created.userId : ''
    expect(userId).toMatch(/^user_/)
    const createdAt = world.clock.now()
    const user = { id: userId, email: 'ann@example.com', isAdmin: true, createdAt }
    expect(await world.store.findUser('ann@example.com')).toEqual(user)
    const account = { userId, email: 'ann@example.com', balance: 0, held: 0, blockedUntil: null }
    expect(await world.store.getAccount(userId)).toEqual(account)
    expect(await world.store.listUsers()).toEqual([{ ...user, ...account }])
  })

  contractTest('an email address is found and taken whatever its case, and a refusal writes nothing', async (world) => {
    const person = { email: 'Ann@Example.com', passwordHash: null, isAdmin: false }
    await world.store.createUser(person)
    const before = await world.store.listUsers()
    for (const email of ['ann@example.com', 'ANN@EXAMPLE.COM', 'Ann@Example.com']) {
      const refused = await world.store.createUser({ ...person, email, isAdmin: true })
      expect(refused).toEqual({ outcome: 'refused', reason: 'email-taken' })
      expect(await world.store.findUser(email)).toMatchObject({ email: 'ann@example.com', isAdmin: false })
    }
    expect(await world.store.listUsers()).toEqual(before)
    expect(await world.store.findUser('bob@example.com')).toBeUndefined()
  })

  contractTest('of parallel creations of one address exactly one succeeds', async (world) => {
    const person = { email: 'ann@example.com', passwordHash: null, isAdmin: false }
    const results = await Promise.all(Array.from({ length: 6 }, () => world.store.createUser(person)))
    expect(results.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect(await world.store.listUsers()).toHaveLength(1)
  })

  contractTest('users are listed in the order in which they came', async (world) => {
    const ids: string[] = []
    for (let index = 0; index < 5; index++) {
      ids.push(await world.createUser(index))
      world.clock.advance(1)
    }
    const users = await world.store.listUsers()
    expect(users.map(({ id, balance }) => [id, balance])).toEqual(ids.map((id, index) => [id, index]))
  })

  contractTest('unknown users have nothing', async (world) => {
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
