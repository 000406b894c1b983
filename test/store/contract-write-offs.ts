import { expect } from 'vitest'
import { begun, day, draftTurn, settle } from './window-calls.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const limits = { maxWrittenOffUsdPerDay: 1 }

/** Settles a turn with usage that exceeds its hold by `writtenOff`. */
async function writeOff(world: StoreWorld, userId: string, writtenOff: number): Promise<void> {
  const turnId = await begun(world, userId, { required: 10, hold: 10, maxCost: 10 })
  expect(await settle(world, turnId, 10 + writtenOff)).toMatchObject({ charged: 10, writtenOff })
}

export function describeWriteOffs(contractTest: ContractTest): void {
  contractTest(
    'rejects turns above the daily write-off bound until the next UTC day',
    async (world) => {
      const [userId, other] = [await world.createUser(1000), await world.createUser(1000)]
      await writeOff(world, userId, 9_999)
      await writeOff(world, userId, 1)
      // The total now equals the bound, but does not exceed it yet.
      await writeOff(world, userId, 1)
      const now = world.clock.now()
      const until = now - (now % day) + day
      const draft = await draftTurn(world, userId)
      expect(await world.store.openTurn(draft)).toMatchObject({ outcome: 'refused', reason: 'written-off', until })
      expect(await world.store.getAccount(userId)).toMatchObject({ balance: 970, held: 0 })
      // The block affects neither other accounts nor tasks.
      await begun(world, other)
      await world.pending(userId)
      world.clock.advance(until - now - 1)
      expect(await world.store.openTurn(draft)).toMatchObject({ reason: 'written-off' })
      world.clock.advance(1)
      expect(await world.store.openTurn(draft)).toMatchObject({ outcome: 'opened' })
      await writeOff(world, userId, 9_999)
      await begun(world, userId)
    },
    { limits },
  )

  contractTest(
    'turns open when the write-off bound is exceeded continue and are charged',
    async (world) => {
      const userId = await world.createUser(1000)
      const open = await begun(world, userId, { hold: 50 })
      await writeOff(world, userId, 10_001)
      expect(await world.store.growHold({ turnId: open, by: 10, least: 10 })).toMatchObject({ outcome: 'held' })
      expect(await settle(world, open, 55)).toMatchObject({ charged: 55, writtenOff: 0 })
    },
    { limits },
  )

  contractTest('without a bound, write-offs never block', async (world) => {
    const userId = await world.createUser(1000)
    await writeOff(world, userId, 1_000_000)
    await begun(world, userId)
  })
}
