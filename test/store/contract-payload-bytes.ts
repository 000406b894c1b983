import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import type { StoredJson } from '../../server/payloads/stored-json.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'
import { begun, day, draftTurn } from './window-calls.ts'

const limits = { payloadBytesPerDay: 1000 }

/** Returns JSON of this many bytes, stored as a payload. */
function stored(world: StoreWorld, bytes: number): StoredJson {
  return { text: '{', payloadId: newId('pay', world.clock.now()), digest: { bytes, sha256: 'sha' } }
}

const withRequest = (world: StoreWorld, bytes: number) => ({ request: stored(world, bytes), payloadBytes: bytes })

async function complete(world: StoreWorld, userId: string, bytes: number): Promise<void> {
  const { attempt, id: taskId } = await world.processing(userId)
  expect(await world.store.completeTask({ taskId, attempt, response: stored(world, bytes) })).toBe(true)
}

async function storedToday(world: StoreWorld, userId: string): Promise<number | undefined> {
  return (await world.store.readLimits(userId))?.payloads.bytes
}

const fileOf = (world: StoreWorld, bytes: number) => ({
  id: newId('pay', world.clock.now()),
  digest: { bytes, sha256: 'sha' },
  mediaType: 'image/png',
  filename: null,
  tokens: 1,
})

export function describePayloadBytes(contractTest: ContractTest): void {
  contractTest(
    'rejects tasks at the daily payload limit until the next UTC day',
    async (world) => {
      const [userId, other] = [await world.createUser(), await world.createUser()]
      await world.pending(userId, withRequest(world, 600))
      const now = world.clock.now()
      const resetsAt = now - (now % day) + day
      const balance = await world.balance(userId)
      const tooLarge = { limit: 1000, stored: 600, required: 401, resetsAt }
      const refused = { outcome: 'refused', reason: 'payloads' }
      expect(await world.admit(userId, withRequest(world, 401))).toMatchObject({ ...refused, payloads: tooLarge })
      expect(await storedToday(world, userId)).toBe(600)
      await world.pending(userId, withRequest(world, 400))
      const full = { limit: 1000, stored: 1000, required: 1, resetsAt }
      const draft = world.draft(userId)
      expect(await world.store.foreseeAdmission(draft)).toMatchObject({ ...refused, payloads: full })
      expect(await world.store.admitTask(draft)).toMatchObject({ ...refused, payloads: full })
      expect(await world.balance(userId)).toBe(balance - 100)
      await world.pending(other, withRequest(world, 1000))
      world.clock.advance(resetsAt - now - 1)
      expect(await world.store.admitTask(draft)).toMatchObject({ reason: 'payloads' })
      await world.reopen()
      expect(await storedToday(world, userId)).toBe(1000)
      world.clock.advance(1)
      expect(await storedToday(world, userId)).toBe(0)
      await world.pending(userId, withRequest(world, 1000))
    },
    { limits },
  )

  contractTest(
    'stores a result of any size and counts it toward the daily limit',
    async (world) => {
      const userId = await world.createUser()
      await complete(world, userId, 900)
      const { attempt, id: taskId } = await world.processing(userId)
      await complete(world, userId, 5000)
      expect(await world.admit(userId)).toMatchObject({ reason: 'payloads', payloads: { stored: 5900 } })
      // Tasks admitted before the limit was reached end normally.
      expect(await world.store.completeTask({ taskId, attempt, response: stored(world, 7) })).toBe(true)
      expect(await world.store.completeTask({ taskId, attempt, response: stored(world, 7) })).toBe(false)
      expect(await storedToday(world, userId)).toBe(5907)
    },
    { limits },
  )

  contractTest(
    'also counts message files, and always admits messages without files',
    async (world) => {
      const userId = await world.createUser(1000)
      const files = [fileOf(world, 300), fileOf(world, 700)]
      expect(await world.store.openTurn(await draftTurn(world, userId, { files }))).toMatchObject({ outcome: 'opened' })
      const more = { files: [fileOf(world, 1)] }
      const draft = await draftTurn(world, userId, more)
      expect(await world.store.openTurn(draft)).toMatchObject({ reason: 'payloads', payloads: { stored: 1000 } })
      expect(await world.admit(userId)).toMatchObject({ reason: 'payloads' })
      const asked = { userId, agentId: 'text', required: 0 }
      expect(await world.store.foreseeLimits({ ...asked, payloadBytes: 1 })).toMatchObject({ reason: 'payloads' })
      expect(await world.store.foreseeLimits(asked)).toBeUndefined()
      await begun(world, userId)
    },
    { limits },
  )

  contractTest(
    'admits parallel requests only up to the payload limit',
    async (world) => {
      const userId = await world.createUser()
      const results = await Promise.all(Array.from({ length: 20 }, () => world.admit(userId, withRequest(world, 100))))
      expect(results.filter(({ outcome }) => outcome === 'accepted')).toHaveLength(10)
      expect(await storedToday(world, userId)).toBe(1000)
    },
    { limits },
  )

  contractTest('without a limit, counts payloads and rejects nothing', async (world) => {
    const userId = await world.createUser()
    await complete(world, userId, 5_000_000_000)
    await complete(world, userId, 1)
    expect(await storedToday(world, userId)).toBe(5_000_000_001)
  })
}
