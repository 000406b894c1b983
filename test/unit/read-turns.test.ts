import { expect, test } from 'vitest'
import type { ChatTurn } from '../../server/chat/chat-turn.ts'
import { KeptTurns } from '../../server/chat/events/kept-turns.ts'
import { readersMax, ReadTurns } from '../../server/chat/events/read-turns.ts'
import type { Logger } from '../../server/kernel/logger.ts'
import type { Store } from '../../server/store/store.ts'
import type { TurnRecord } from '../../server/store/sessions/turn-types.ts'

const line = '{"type":"assistant_delta"}\n'
const owner = { userId: 'user_1', agents: null, credential: { kind: 'operator' } as const }

/** Returns a client token bound to that session. */
const boundTo = (sessionId: string) => ({
  userId: 'user_1',
  agents: null,
  credential: { kind: 'clientToken', tokenId: 'token_1', sessionId, taskId: null } as const,
})

/**
 * Starts a turn of `owner` in memory, which emits one line and then continues or ends. Also adds a stored turn that
 * runs elsewhere.
 */
function start({ ends = false } = {}) {
  const stopped: string[] = []
  const elsewhere: TurnRecord = {
    turnId: 'turn_2',
    userId: 'user_1',
    sessionId: 'ses_2',
    agentId: 'talk',
    outcome: null,
    cost: null,
    createdAt: 0,
    settledAt: null,
  }
  const turnEvents: Store['turnEvents'] = {
    findTurn: async ({ turnId, userId }) => (turnId === 'turn_2' && userId === 'user_1' ? elsewhere : undefined),
    findOpenTurn: async () => null,
    keep: async () => {},
    read: async () => [],
  }
  const signals = { on: () => () => {}, send: (topic: string, id: string) => stopped.push(`${topic} ${id}`) }
  const store = { turnEvents, shared: { signals } } as unknown as Store
  const kept = new KeptTurns({ log: {} as Logger, store })
  const said = {
    turnId: 'turn_1',
    lastSeq: 0,
    isEnding: false,
    stop: () => stopped.push('turn_1'),
    next: async () => {
      if (said.lastSeq > 0) return ends ? undefined : await new Promise<string>(() => {})
      said.lastSeq++
      return line
    },
  }
  const first = kept.add(said as unknown as ChatTurn, {
    userId: 'user_1',
    sessionId: 'ses_1',
    onDisconnect: 'continue',
  })
  return { first, kept, stopped, turns: new ReadTurns(kept, { clock: { now: () => 0 }, store }) }
}

const notFound = { code: 'NOT_FOUND' }

test('a token bound to another session cannot read or stop a turn on any node', async () => {
  const { kept, stopped, turns } = start()
  for (const [turnId, own, other] of [
    ['turn_1', 'ses_1', 'ses_2'],
    ['turn_2', 'ses_2', 'ses_1'],
  ] as const) {
    await expect(turns.open({ caller: boundTo(other), turnId, after: 0 })).rejects.toMatchObject(notFound)
    await expect(turns.stop({ caller: boundTo(other), turnId })).rejects.toMatchObject(notFound)
    const reader = await turns.open({ caller: boundTo(own), turnId, after: 0 })
    expect(reader!.turnId).toBe(turnId)
    reader!.leave()
  }
  expect(stopped.filter((what) => !what.startsWith('turn-followed'))).toEqual([])
  for (const [turnId, own] of [
    ['turn_1', 'ses_1'],
    ['turn_2', 'ses_2'],
  ] as const)
    expect(await turns.stop({ caller: boundTo(own), turnId })).toBe(true)
  expect(stopped.filter((what) => !what.startsWith('turn-followed'))).toEqual(['turn_1', 'turn-stopped turn_2'])
  await kept.close()
})

test('limits readers per user, and frees each slot once when its reader leaves', async () => {
  const { kept, turns } = start()
  const open = (caller: typeof owner = owner) => turns.open({ caller, turnId: 'turn_1', after: 0 })
  const readers = await Promise.all(Array.from({ length: readersMax }, () => open()))
  await expect(open()).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
  await expect(open({ ...owner, userId: 'user_2' })).rejects.toMatchObject(notFound)
  for (let n = 0; n < 3; n++) readers[0]!.leave()
  readers[0] = await open()
  await expect(open()).rejects.toMatchObject({ code: 'RATE_LIMIT_EXCEEDED' })
  for (const reader of readers) reader!.leave()
  expect(await open()).toBeDefined()
  await kept.close()
})

test('failed and finished reads free their reader slot', async () => {
  const { kept, turns } = start({ ends: true })
  for (let n = 0; n <= readersMax; n++) {
    await expect(turns.open({ caller: owner, turnId: 'turn_3', after: 0 })).rejects.toMatchObject(notFound)
    await expect(turns.open({ caller: owner, turnId: 'turn_1', after: 100 })).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    })
    const reader = await turns.open({ caller: owner, turnId: 'turn_1', after: 0 })
    expect([await reader!.next(), await reader!.next()]).toEqual([line, undefined])
    expect(await turns.open({ caller: owner, turnId: 'turn_1', after: 1 })).toBeUndefined()
  }
  await kept.close()
})
