import type { KeyRecord } from '../../server/store/access/key-types.ts'
import { expect } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { draftKey } from './key-drafts.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

async function createKey(world: StoreWorld, userId: string): Promise<{ key: KeyRecord; tokenHash: string }> {
  const draft = draftKey(userId)
  return { key: await world.store.createKey(draft), tokenHash: draft.tokenHash }
}

export function describeKeys(contractTest: ContractTest): void {
  contractTest('finds a key and its owner by the token hash', async (world) => {
    const userId = await world.createUser()
    const draft = draftKey(userId, { expiresAt: world.clock.now() + 1000 })
    const key = await world.store.createKey(draft)
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      userId,
      name: 'laptop',
      hint: 'a1b2',
      scopes: ['read', 'execute'],
      createdAt: world.clock.now(),
      expiresAt: draft.expiresAt,
      revokedAt: null,
      lastUsedAt: null,
      replacedBy: null,
      countsAs: expect.stringMatching(/^key_/),
      spendLimit: null,
      spendReset: null,
      rateLimit: null,
      agents: null,
    })
    const { email } = must(await world.store.getAccount(userId), 'an account')
    const { id, scopes, expiresAt, revokedAt } = key
    for (let finds = 0; finds < 2; finds++) {
      const found = await world.store.findKey(draft.tokenHash)
      const holder = {
        email,
        isAdmin: false,
        suspendedAt: null,
        limits: null,
        agents: null,
        account: { plan: null, limits: null },
      }
      expect(found).toEqual({ id, userId, scopes, expiresAt, revokedAt, ...holder })
    }
    expect(await world.store.findKey('0'.repeat(64))).toBeUndefined()
    expect(await world.store.getKey({ userId, keyId: id })).toEqual(key)
  })

  contractTest('finds a key created after a failed lookup of it', async (world) => {
    const userId = await world.createUser()
    const draft = draftKey(userId)
    expect(await world.store.findKey(draft.tokenHash)).toBeUndefined()
    const { id } = await world.store.createKey(draft)
    expect(await world.store.findKey(draft.tokenHash)).toMatchObject({ id })
  })

  contractTest('returns every set of scopes unchanged', async (world) => {
    const userId = await world.createUser()
    for (const scopes of [['read'], ['manage', 'read'], ['read', 'execute', 'manage']] as const) {
      const draft = draftKey(userId, { scopes: [...scopes] })
      expect((await world.store.createKey(draft)).scopes).toEqual(scopes)
      expect((await world.store.findKey(draft.tokenHash))!.scopes).toEqual(scopes)
    }
  })

  contractTest('throws on a duplicate token and keeps the first key working', async (world) => {
    const userId = await world.createUser()
    const draft = draftKey(userId)
    const { id } = await world.store.createKey(draft)
    await expect(world.store.createKey(draft)).rejects.toThrow()
    expect(await world.store.findKey(draft.tokenHash)).toMatchObject({ id })
    expect((await world.store.listKeys({ userId, limit: 10, offset: 0 })).total).toBe(1)
  })

  contractTest('lists live and ended keys separately, each with its own total', async (world) => {
    const userId = await world.createUser()
    const ids: string[] = []
    for (let index = 0; index < 6; index++) {
      const expiresAt = index === 4 ? world.clock.now() + 1000 : null
      const draft = { ...draftKey(userId), tokenHash: `${index}`.repeat(64), expiresAt }
      ids.push((await world.store.createKey(draft)).id)
      world.clock.advance(1)
    }
    await world.store.revokeKey({ userId, keyId: ids[1]! })
    const list = async (isLive: boolean, page = { limit: 10, offset: 0 }) => {
      const { keys, total } = await world.store.listKeys({ userId, isLive, ...page })
      return [keys.map(({ id }) => ids.indexOf(id)), total]
    }
    expect(await list(true)).toEqual([[5, 4, 3, 2, 0], 5])
    expect(await list(false)).toEqual([[1], 1])
    world.clock.advance(1000)
    expect(await list(true, { limit: 2, offset: 1 })).toEqual([[3, 2], 4])
    expect(await list(false)).toEqual([[4, 1], 2])
  })

  contractTest('a revocation applies to the next lookup and happens only once', async (world) => {
    const userId = await world.createUser()
    const { key, tokenHash } = await createKey(world, userId)
    const { tokenHash: otherHash } = await createKey(world, userId)
    expect(await world.store.findKey(tokenHash)).toMatchObject({ revokedAt: null })
    const revokedAt = world.clock.now()
    expect(await world.store.revokeKey({ userId, keyId: key.id })).toBe(true)
    expect(await world.store.findKey(tokenHash)).toMatchObject({ revokedAt })
    world.clock.advance(1000)
    expect(await world.store.revokeKey({ userId, keyId: key.id })).toBe(false)
    expect(await world.store.getKey({ userId, keyId: key.id })).toEqual({ ...key, revokedAt })
    expect(await world.store.findKey(otherHash)).toMatchObject({ revokedAt: null })
  })

  contractTest("another user's key is invisible and cannot be changed", async (world) => {
    const [userId, other] = [await world.createUser(), await world.createUser()]
    const { key, tokenHash } = await createKey(world, userId)
    const of = { userId: other, keyId: key.id }
    expect(await world.store.getKey(of)).toBeUndefined()
    expect(await world.store.revokeKey(of)).toBe(false)
    const rotation = { ...of, key: draftKey(other), oldExpiresAt: world.clock.now() }
    expect(await world.store.rotateKey(rotation)).toBeUndefined()
    expect(await world.store.listKeys({ userId: other, limit: 10, offset: 0 })).toEqual({ keys: [], total: 0 })
    expect(await world.store.getKey({ userId, keyId: key.id })).toEqual(key)
    expect(await world.store.findKey(tokenHash)).toMatchObject({ revokedAt: null, expiresAt: null })
    expect(await world.store.findKey(rotation.key.tokenHash)).toBeUndefined()
    expect(await world.store.revokeKey({ userId, keyId: 'key_unknown' })).toBe(false)
  })

  contractTest('a rotated key works alongside its successor until the overlap ends', async (world) => {
    const userId = await world.createUser()
    const { key, tokenHash } = await createKey(world, userId)
    expect(await world.store.findKey(tokenHash)).toMatchObject({ expiresAt: null })
    const oldExpiresAt = world.clock.now() + 60_000
    const draft = draftKey(userId, { expiresAt: world.clock.now() + 900_000 })
    const successor = await world.store.rotateKey({ userId, keyId: key.id, key: draft, oldExpiresAt })
    expect(successor).toMatchObject({ name: key.name, scopes: key.scopes, expiresAt: draft.expiresAt, revokedAt: null })
    expect(await world.store.findKey(tokenHash)).toMatchObject({ id: key.id, expiresAt: oldExpiresAt, revokedAt: null })
    expect(await world.store.findKey(draft.tokenHash)).toMatchObject({ id: successor!.id })
  })

  contractTest('an overlap never extends the life of a key', async (world) => {
    const userId = await world.createUser()
    for (const [lifeMs, overlapMs] of [
      [1000, 60_000],
      [60_000, 1000],
    ] as const) {
      const now = world.clock.now()
      const draft = draftKey(userId, { expiresAt: now + lifeMs })
      const { id: keyId } = await world.store.createKey(draft)
      const rotation = { userId, keyId, key: draftKey(userId), oldExpiresAt: now + overlapMs }
      expect(await world.store.rotateKey(rotation)).toBeDefined()
      expect(await world.store.findKey(draft.tokenHash)).toMatchObject({ expiresAt: now + 1000 })
    }
  })

  contractTest('a key is rotated only once, even by parallel calls', async (world) => {
    const userId = await world.createUser()
    const { key } = await createKey(world, userId)
    const oldExpiresAt = world.clock.now() + 60_000
    const rotate = () => world.store.rotateKey({ userId, keyId: key.id, key: draftKey(userId), oldExpiresAt })
    const rotated = await Promise.all([rotate(), rotate(), rotate()])
    const successors = rotated.filter((successor) => successor !== undefined)
    expect(successors).toHaveLength(1)
    const replacedBy = successors[0]!.id
    expect(await rotate()).toBeUndefined()
    expect(await world.store.getKey({ userId, keyId: key.id })).toMatchObject({ replacedBy, revokedAt: null })
    const { keys, total } = await world.store.listKeys({ userId, limit: 10, offset: 0 })
    expect([keys.length, total]).toEqual([2, 2])
  })

  contractTest('creating a key deletes only keys that ended at least 90 days ago', async (world) => {
    const userId = await world.createUser()
    const day = 86_400_000
    const { key: live, tokenHash } = await createKey(world, userId)
    const { key: revoked } = await createKey(world, userId)
    await world.store.createKey(draftKey(userId, { expiresAt: world.clock.now() + day }))
    await world.store.revokeKey({ userId, keyId: revoked.id })
    const totalWithOneMore = async () => {
      await createKey(world, userId)
      return (await world.store.listKeys({ userId, limit: 1, offset: 0 })).total
    }
    world.clock.advance(90 * day - 1)
    expect(await totalWithOneMore()).toBe(4)
    world.clock.advance(1)
    expect(await totalWithOneMore()).toBe(4)
    expect(await world.store.getKey({ userId, keyId: revoked.id })).toBeUndefined()
    world.clock.advance(day)
    expect(await totalWithOneMore()).toBe(4)
    expect(await world.store.findKey(tokenHash)).toMatchObject({ id: live.id })
  })

  contractTest('a revoked key cannot be rotated, and the attempt creates no key', async (world) => {
    const userId = await world.createUser()
    const { key } = await createKey(world, userId)
    await world.store.revokeKey({ userId, keyId: key.id })
    const draft = draftKey(userId)
    const rotation = { userId, keyId: key.id, key: draft, oldExpiresAt: world.clock.now() }
    expect(await world.store.rotateKey(rotation)).toBeUndefined()
    expect(await world.store.findKey(draft.tokenHash)).toBeUndefined()
    expect((await world.store.listKeys({ userId, limit: 10, offset: 0 })).total).toBe(1)
  })

  contractTest('a failed rotation leaves the old key unchanged', async (world) => {
    const userId = await world.createUser()
    const { key, tokenHash } = await createKey(world, userId)
    const taken = { ...draftKey(userId), tokenHash }
    const rotation = { userId, keyId: key.id, key: taken, oldExpiresAt: world.clock.now() }
    await expect(world.store.rotateKey(rotation)).rejects.toThrow()
    expect(await world.store.findKey(tokenHash)).toMatchObject({ id: key.id, expiresAt: null })
  })

  contractTest('lists keys newest first, in pages, with a total', async (world) => {
    const userId = await world.createUser()
    const keys: KeyRecord[] = []
    for (let index = 0; index < 5; index++) {
      keys.unshift((await createKey(world, userId)).key)
      world.clock.advance(1)
    }
    await createKey(world, await world.createUser())
    expect(await world.store.listKeys({ userId, limit: 10, offset: 0 })).toEqual({ keys, total: 5 })
    expect(await world.store.listKeys({ userId, limit: 2, offset: 3 })).toEqual({ keys: keys.slice(3), total: 5 })
  })

  contractTest('lists keys created in the same millisecond in reverse order of creation', async (world) => {
    const userId = await world.createUser()
    const ids: string[] = []
    for (let index = 0; index < 8; index++) ids.unshift((await createKey(world, userId)).key.id)
    const { keys } = await world.store.listKeys({ userId, limit: 10, offset: 0 })
    expect(keys.map(({ id }) => id)).toEqual(ids)
  })

  contractTest('an account has at most 1,000 live keys; ending one makes room', async (world) => {
    const userId = await world.createUser()
    const expiring = draftKey(userId, { expiresAt: world.clock.now() + 1000 })
    await world.store.createKey(expiring)
    const kept = await Promise.all(Array.from({ length: 999 }, () => createKey(world, userId)))
    await expect(createKey(world, userId)).rejects.toMatchObject({ code: 'CONFLICT' })
    world.clock.advance(1000)
    await createKey(world, userId)
    await expect(createKey(world, userId)).rejects.toMatchObject({ code: 'CONFLICT' })
    await world.store.revokeKey({ userId, keyId: kept[0]!.key.id })
    await createKey(world, userId)
    expect((await world.store.listKeys({ userId, limit: 1, offset: 0 })).total).toBe(1002)
  })

  contractTest('records the last use of keys and skips unknown keys', async (world) => {
    const userId = await world.createUser()
    const [first, second] = [await createKey(world, userId), await createKey(world, userId)]
    const at = world.clock.now()
    await world.store.touchKeys([])
    await world.store.touchKeys([
      { keyId: first.key.id, at },
      { keyId: 'key_unknown', at },
      { keyId: second.key.id, at: at + 5 },
    ])
    expect((await world.store.getKey({ userId, keyId: first.key.id }))!.lastUsedAt).toBe(at)
    expect((await world.store.getKey({ userId, keyId: second.key.id }))!.lastUsedAt).toBe(at + 5)
  })
}
