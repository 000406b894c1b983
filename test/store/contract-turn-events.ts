import { expect } from 'vitest'
import { eventsKeptMs, type TurnEvents } from '../../server/store/sessions/turn-types.ts'
import { draftTurn, finished, opened } from './session-contract.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const charsMax = 1_000_000

/** Returns a piece with the events from `firstSeq` to `lastSeq`, one per line. */
function pieceOf(turnId: string, firstSeq: number, lastSeq: number, text = ''): TurnEvents {
  const seqs = Array.from({ length: lastSeq - firstSeq + 1 }, (_, n) => firstSeq + n)
  return { turnId, firstSeq, lastSeq, lines: seqs.map((seq) => `${JSON.stringify({ seq, text })}\n`).join('') }
}

async function begun(world: StoreWorld) {
  const session = await opened(world, await world.createUser())
  const turn = draftTurn(world, session)
  expect(await world.store.openTurn(turn)).toMatchObject({ outcome: 'opened' })
  const { turnId, userId } = turn
  return { session, sessionId: session.id, turnId, userId }
}

export function describeTurnEvents(contractTest: ContractTest): void {
  describePieces(contractTest)
  describeFinding(contractTest)
  describePurge(contractTest)
}

function describePieces(contractTest: ContractTest): void {
  contractTest('reads the events of a turn in order, from the chunk with the next one', async (world) => {
    const { turnEvents } = world.store
    const pieces = [pieceOf('turn_a', 1, 3), pieceOf('turn_a', 4, 4), pieceOf('turn_a', 5, 12)]
    await turnEvents.keep([pieces[2]!, pieceOf('turn_b', 1, 2)])
    await turnEvents.keep([pieces[1]!, pieces[0]!])
    const read = (after: number) => turnEvents.read({ turnId: 'turn_a', after, charsMax })
    for (const after of [0, 1, 2]) expect(await read(after)).toEqual(pieces)
    expect(await read(3)).toEqual(pieces.slice(1))
    for (const after of [4, 5, 11]) expect(await read(after)).toEqual(pieces.slice(2))
    for (const after of [12, 13]) expect(await read(after)).toEqual([])
    expect(await turnEvents.read({ turnId: 'turn_c', after: 0, charsMax })).toEqual([])
    await world.reopen()
    expect(await world.store.turnEvents.read({ turnId: 'turn_a', after: 2, charsMax })).toEqual(pieces)
  })

  contractTest('saving the same events twice keeps only the first version', async (world) => {
    const { turnEvents } = world.store
    const [first, second] = [pieceOf('turn_a', 1, 2), pieceOf('turn_a', 3, 4)]
    await Promise.all(Array.from({ length: 5 }, () => turnEvents.keep([first])))
    await turnEvents.keep([pieceOf('turn_a', 1, 2, 'another'), second, second])
    expect(await turnEvents.read({ turnId: 'turn_a', after: 0, charsMax })).toEqual([first, second])
  })

  contractTest('drops events of the given turn up to a given number', async (world) => {
    const { turnEvents } = world.store
    const [first, second, third] = [pieceOf('turn_a', 1, 3), pieceOf('turn_a', 4, 4), pieceOf('turn_a', 5, 9)]
    const other = pieceOf('turn_b', 1, 2)
    await turnEvents.keep([first, second, other])
    await turnEvents.keep([third], [{ turnId: 'turn_a', lastSeq: 4 }])
    const read = (turnId: string) => turnEvents.read({ turnId, after: 0, charsMax })
    expect(await read('turn_a')).toEqual([third])
    expect(await read('turn_b')).toEqual([other])
    await turnEvents.keep([], [{ turnId: 'turn_a', lastSeq: 9 }])
    expect(await read('turn_a')).toEqual([])
  })

  contractTest('reads as many chunks as fit, at least one, then the rest', async (world) => {
    const { turnEvents } = world.store
    const pieces = [100, 100, 1000, 50, 50, 50].map((chars, n) => pieceOf('turn_a', n + 1, n + 1, 'x'.repeat(chars)))
    await turnEvents.keep(pieces)
    const counts: number[] = []
    const read: TurnEvents[] = []
    while (read.length < pieces.length) {
      const next = await turnEvents.read({ turnId: 'turn_a', after: read.at(-1)?.lastSeq ?? 0, charsMax: 400 })
      counts.push(next.length)
      read.push(...next)
    }
    expect(read).toEqual(pieces)
    expect(counts).toEqual([2, 1, 3])
    const [one, two] = [pieces[0]!.lines.length, pieces[1]!.lines.length]
    const fitting = (most: number) => turnEvents.read({ turnId: 'turn_a', after: 0, charsMax: most })
    expect(await fitting(1)).toEqual(pieces.slice(0, 1))
    expect(await fitting(one + two - 1)).toEqual(pieces.slice(0, 1))
    expect(await fitting(one + two)).toEqual(pieces.slice(0, 2))
  })

  contractTest('reads many chunks in bounded batches without missing any', async (world) => {
    const { turnEvents } = world.store
    const pieces = Array.from({ length: 150 }, (_, n) => pieceOf('turn_a', n + 1, n + 1))
    await turnEvents.keep(pieces)
    const read: TurnEvents[] = []
    for (;;) {
      const next = await turnEvents.read({ turnId: 'turn_a', after: read.length, charsMax })
      expect(next.length).toBeLessThanOrEqual(64)
      if (next.length === 0) break
      read.push(...next)
    }
    expect(read).toEqual(pieces)
  })
}

function describeFinding(contractTest: ContractTest): void {
  contractTest('finds open and settled turns for their own user only', async (world) => {
    const { sessionId, turnId, userId } = await begun(world)
    const other = await world.createUser()
    const { turnEvents } = world.store
    const createdAt = world.clock.now()
    const row = { turnId, userId, sessionId, agentId: 'text', createdAt }
    expect(await turnEvents.findTurn({ userId, turnId })).toEqual({
      ...row,
      outcome: null,
      cost: null,
      settledAt: null,
    })
    expect(await turnEvents.findOpenTurn({ userId, sessionId })).toBe(turnId)
    for (const of of [
      { userId: other, turnId, sessionId },
      { userId, turnId: 'turn_0', sessionId: 'ses_0' },
    ]) {
      expect(await turnEvents.findTurn(of)).toBeUndefined()
      expect(await turnEvents.findOpenTurn(of)).toBeUndefined()
    }
    world.clock.advance(7)
    await world.store.settleTurn(finished(turnId, 'hello'))
    const settled = { outcome: 'finished', cost: 20, settledAt: createdAt + 7 }
    expect(await turnEvents.findTurn({ userId, turnId })).toEqual({ ...row, ...settled })
    expect(await turnEvents.findOpenTurn({ userId, sessionId })).toBeNull()
    await world.store.deleteSession({ userId, sessionId })
    expect(await turnEvents.findTurn({ userId, turnId })).toEqual({ ...row, ...settled })
    expect(await turnEvents.findOpenTurn({ userId, sessionId })).toBeUndefined()
  })
}

function describePurge(contractTest: ContractTest): void {
  contractTest('deletes events some minutes after their turn ends, and never while it runs', async (world) => {
    const [ended, working] = [await begun(world), await begun(world)]
    const keep = (seq: number) =>
      world.store.turnEvents.keep([ended, working].map(({ turnId }) => pieceOf(turnId, seq, seq)))
    const kept = async ({ turnId }: { turnId: string }) => {
      await world.purge()
      return (await world.store.turnEvents.read({ turnId, after: 0, charsMax })).length
    }
    await keep(1)
    // Retention is counted from the turn's end, not from when the events were stored.
    world.clock.advance(3 * eventsKeptMs)
    await keep(2)
    await world.store.settleTurn(finished(ended.turnId, 'hello'))
    expect([await kept(ended), await kept(working)]).toEqual([2, 2])
    world.clock.advance(eventsKeptMs)
    expect([await kept(ended), await kept(working)]).toEqual([2, 2])
    world.clock.advance(1)
    expect([await kept(ended), await kept(working)]).toEqual([0, 2])
    await world.store.settleTurn(finished(working.turnId, 'hello'))
    world.clock.advance(eventsKeptMs + 1)
    expect(await kept(working)).toBe(0)
  })

  contractTest('deletes events of an unknown turn some minutes after they were saved', async (world) => {
    const of = { turnId: 'turn_0', after: 0, charsMax }
    await world.store.turnEvents.keep([pieceOf('turn_0', 1, 1)])
    world.clock.advance(eventsKeptMs)
    await world.purge()
    expect(await world.store.turnEvents.read(of)).toHaveLength(1)
    world.clock.advance(1)
    await world.purge()
    expect(await world.store.turnEvents.read(of)).toEqual([])
  })
}
