import { expect } from 'vitest'
import type { OpenTurnResult } from '../../server/store/sessions/session-types.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'
import { draftTurn, settle } from './window-calls.ts'

const digest = 'of the request'

/** Opens a turn for a request with this many earlier attempts. Returns the id of the turn that the client gets. */
async function sent(world: StoreWorld, userId: string, retries: number): Promise<string> {
  const turn = await draftTurn(world, userId, { request: { digest, retries } })
  return answeredBy(turn.turnId, await world.store.openTurn(turn))
}

function answeredBy(turnId: string, result: OpenTurnResult): string {
  if (result.outcome === 'opened') return turnId
  if (result.reason === 'repeated') return result.turnId
  throw new Error(`refused: ${result.reason}`)
}

const found = (world: StoreWorld, userId: string, retries: number) =>
  world.store.requests.findTurn({ userId, digest, retries })

/** Contract of requests that clients retry without an Idempotency-Key. */
export function describeWireRequests(contractTest: ContractTest): void {
  contractTest('a repeated request returns its turn until one minute after the turn ends', async (world) => {
    const userId = await world.createUser()
    const first = await sent(world, userId, 0)
    world.clock.advance(3_600_000)
    await world.store.purgeExpired()
    expect(await sent(world, userId, 1)).toBe(first)
    await settle(world, first, 5)
    world.clock.advance(59_999)
    expect([await sent(world, userId, 1), await found(world, userId, 2)]).toEqual([first, first])
    expect(await found(world, await world.createUser(), 1)).toBeUndefined()
    world.clock.advance(1)
    expect(await found(world, userId, 3)).toBeUndefined()
    const second = await sent(world, userId, 1)
    expect(second).not.toBe(first)
    await world.store.purgeExpired()
    expect(await found(world, userId, 2)).toBe(second)
    await settle(world, second, 5)
  })

  contractTest('parallel repeats of a request open one turn and all return it', async (world) => {
    const userId = await world.createUser()
    const repeated = await Promise.all(Array.from({ length: 10 }, () => sent(world, userId, 1)))
    expect(new Set(repeated).size).toBe(1)
  })

  contractTest('repeats of two identical interrupted requests each return a different turn', async (world) => {
    const userId = await world.createUser()
    const turnIds = [await sent(world, userId, 0), await sent(world, userId, 0)]
    expect(new Set(turnIds).size).toBe(2)
    for (const retries of [1, 2]) {
      const again = [await found(world, userId, retries), await found(world, userId, retries)]
      expect(again.toSorted()).toEqual(turnIds.toSorted())
    }
    world.clock.advance(5000)
    const third = await sent(world, userId, 0)
    // If several turns match, a retry gets the turn with the disconnected client.
    await world.store.requests.left({ userId, digest, resourceId: turnIds[0]! })
    expect(await found(world, userId, 3)).toBe(turnIds[0])
    expect(await found(world, userId, 3)).toBe(third)
  })

  contractTest('an original request overtaken by its repeat returns the same turn, once', async (world) => {
    const userId = await world.createUser()
    const first = await sent(world, userId, 1)
    expect(await sent(world, userId, 0)).toBe(first)
    const second = await sent(world, userId, 0)
    expect(second).not.toBe(first)
    const other = await world.createUser()
    const alone = await sent(world, other, 2)
    world.clock.advance(1001)
    expect(await sent(world, other, 0)).not.toBe(alone)
  })

  contractTest(
    'a repeated tool call returns the task of a disconnected client until it is withdrawn',
    async (world) => {
      const { store } = world
      const userId = await world.createUser()
      const call = { what: 'the tool and its arguments', request: null, keptMs: 60_000 }
      const first = await world.pending(userId, { call })
      const second = await world.pending(userId, { call })
      expect(second).not.toBe(first)
      const of = { userId, digest: call.what, resourceId: first }
      const leftAt = await store.requests.left(of)
      expect(await world.admit(userId, { call })).toMatchObject({ outcome: 'replayed', taskId: first })
      // The repeated call was answered with the task, so its node does not cancel it, and the next call creates a new
      // task.
      expect(await store.requests.takeBack({ ...of, leftAt })).toBe(false)
      const third = await world.pending(userId, { call })
      const again = await store.requests.left(of)
      expect(await store.requests.takeBack({ ...of, leftAt: again })).toBe(true)
      expect([first, second, third]).not.toContain(await world.pending(userId, { call }))
      await store.requests.left(of)
      world.clock.advance(60_000)
      await store.purgeExpired()
      expect(await world.pending(userId, { call })).not.toBe(first)
    },
  )

  contractTest(
    'after a restart of the only process, repeated calls return the tasks they had waited for',
    async (world) => {
      const { store } = world
      const userId = await world.createUser(200)
      const call = { what: 'the tool and its arguments', request: 'of one client', keptMs: 60_000 }
      const taskId = await world.pending(userId, { call, cost: 200 })
      // A request that the client repeats is answered even if no disconnect was recorded and the balance is too low.
      expect(await store.foreseeAdmission(world.draft(userId, { call, cost: 200 }))).toBeUndefined()
      expect(await world.admit(userId, { call })).toMatchObject({ outcome: 'replayed', taskId })
      await store.requests.leaveAll()
      const other = { ...call, request: null }
      expect(await world.admit(userId, { call: other })).toMatchObject({ outcome: 'replayed', taskId })
      await world.expectRefused(world.draft(userId, { call: other }), { reason: 'balance' })
    },
  )
}
