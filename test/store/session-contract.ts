import { expect } from 'vitest'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import { must } from '../../server/kernel/assert.ts'
import { newId } from '../../server/kernel/ids.ts'
import {
  type CreateSession,
  type OpenTurn,
  type SettleTurn,
  sessionStatuses,
  type SessionRecord,
} from '../../server/store/sessions/session-types.ts'
import type { ContractTest } from './store-contract.ts'
import type { StoreWorld } from './store-world.ts'

const dayMs = 86_400_000
const all = { limit: 1000, offset: 0 }

export function draftSession(world: StoreWorld, userId: string, changes: Partial<CreateSession> = {}): CreateSession {
  const sessionId = newId('ses', world.clock.now())
  return { sessionId, userId, agentId: 'text', metadata: {}, idempotency: null, ...changes }
}

export async function opened(
  world: StoreWorld,
  userId: string,
  changes: Partial<CreateSession> = {},
): Promise<SessionRecord> {
  const created = await world.store.createSession(draftSession(world, userId, changes))
  if (created.outcome !== 'created') throw new Error(`not created: ${created.outcome}`)
  return created.session
}

export function draftTurn(world: StoreWorld, { id, userId }: SessionRecord): OpenTurn {
  return {
    turnId: newId('turn', world.clock.now()),
    userId,
    sessionId: id,
    required: 1,
    hold: 50,
    idempotency: null,
  }
}

const nothing = { complete: false, activate: false, metadata: {} }
const breakdown = { ...nothingUsed, promptTokens: 1, completionTokens: 1 }

export function finished(turnId: string, text: string): SettleTurn {
  const [message, reply] = [text, `re: ${text}`].map((content) => ({ content, tokens: 1 }))
  return {
    turnId,
    outcome: 'finished',
    cost: 20,
    breakdown,
    exchange: { message: message!, reply: { ...reply!, toolCalls: [] } },
  }
}

/** Opens and settles a turn, which must be admitted. */
export async function converse(world: StoreWorld, session: SessionRecord, text: string): Promise<void> {
  const turn = draftTurn(world, session)
  expect(await world.store.openTurn(turn)).toMatchObject({ outcome: 'opened' })
  expect(await world.store.settleTurn(finished(turn.turnId, text))).toMatchObject({ charged: 20 })
}

function read(world: StoreWorld, { id: sessionId, userId }: SessionRecord): Promise<SessionRecord | undefined> {
  return world.store.getSession({ userId, sessionId })
}

function update(world: StoreWorld, { id: sessionId, userId }: SessionRecord, changes: Partial<typeof nothing>) {
  return world.store.updateSession({ ...nothing, ...changes, userId, sessionId })
}

export function describeSessions(contractTest: ContractTest): void {
  describeLives(contractTest)
  describeHistories(contractTest)
  describeMetadata(contractTest)
  describeSessionLists(contractTest)
  describeSessionKeys(contractTest)
}

function describeLives(contractTest: ContractTest): void {
  contractTest('reading a session returns what was created, and only for its user', async (world) => {
    const [userId, other] = [await world.createUser(), await world.createUser()]
    const now = world.clock.now()
    const session = await opened(world, userId, { metadata: { a: [1] } })
    expect(session).toEqual({
      id: expect.any(String),
      userId,
      agentId: 'text',
      status: 'active',
      metadata: { a: [1] },
      tags: null,
      title: null,
      continues: null,
      messageCount: 0,
      maxCost: null,
      spent: 0,
      createdAt: now,
      updatedAt: now,
    })
    expect(await read(world, session)).toEqual(session)
    const theirs = { ...session, userId: other }
    expect(await read(world, theirs)).toBeUndefined()
    expect(await update(world, theirs, { complete: true })).toEqual({ outcome: 'refused', reason: 'unknown' })
    expect(await world.store.deleteSession({ userId: other, sessionId: session.id })).toMatchObject({
      outcome: 'unknown',
    })
    expect(await world.store.listMessages({ userId: other, sessionId: session.id, ...all })).toBeUndefined()
    expect(await read(world, session)).toEqual(session)
  })

  contractTest('a session expires after the idle limit and stays expired', async (world) => {
    const session = await opened(world, await world.createUser())
    world.clock.advance(dayMs - 1)
    expect((await read(world, session))?.status).toBe('active')
    world.clock.advance(1)
    expect((await read(world, session))?.status).toBe('expired')
    for (const changes of [{}, { complete: true }, { activate: true }, { metadata: { a: 1 } }]) {
      expect(await update(world, session, changes)).toEqual({ outcome: 'refused', reason: 'expired' })
    }
    const refused = await world.store.openTurn(draftTurn(world, session))
    expect(refused).toMatchObject({ outcome: 'refused', reason: 'expired' })
    expect(await read(world, session)).toEqual({ ...session, status: 'expired' })
  })

  contractTest('a session with a turn in progress stays active, no matter how long the turn takes', async (world) => {
    const session = await opened(world, await world.createUser())
    world.clock.advance(dayMs - 1)
    const turn = draftTurn(world, session)
    expect(await world.store.openTurn(turn)).toMatchObject({ outcome: 'opened' })
    world.clock.advance(60_000)
    const during = (await read(world, session))?.status
    const list = await world.store.listSessions({ userId: session.userId, status: 'active', ...all })
    expect(await world.store.settleTurn(finished(turn.turnId, 'late'))).toBeDefined()
    expect((await read(world, session))?.status).toBe('active')
    expect([during, list.total]).toEqual(['active', 1])
  })

  contractTest('updates and settled exchanges count as activity, failed turns do not', async (world) => {
    const userId = await world.createUser()
    const [updated, chatted, failed] = [
      await opened(world, userId),
      await opened(world, userId),
      await opened(world, userId),
    ]
    world.clock.advance(dayMs - 1)
    const now = world.clock.now()
    expect(await update(world, updated, {})).toMatchObject({ outcome: 'updated', session: { updatedAt: now } })
    await converse(world, chatted, 'hello')
    const turn = draftTurn(world, failed)
    await world.store.openTurn(turn)
    const settled = { ...finished(turn.turnId, ''), outcome: 'failed', cost: 0, exchange: null } as const
    expect(await world.store.settleTurn(settled)).toMatchObject({ charged: 0 })
    world.clock.advance(1)
    expect(await read(world, updated)).toEqual({ ...updated, updatedAt: now })
    expect(await read(world, chatted)).toEqual({ ...chatted, messageCount: 2, spent: 20, updatedAt: now })
    expect(await read(world, failed)).toEqual({ ...failed, status: 'expired' })
  })

  contractTest('completing is idempotent and final, even after the idle limit', async (world) => {
    const session = await opened(world, await world.createUser())
    for (let again = 0; again < 2; again++) {
      const result = await update(world, session, { complete: true })
      expect(result).toMatchObject({ outcome: 'updated', session: { status: 'completed' } })
      world.clock.advance(dayMs)
    }
    expect(await update(world, session, { activate: true, metadata: { a: 1 } })).toEqual({
      outcome: 'refused',
      reason: 'completed',
    })
    expect(await read(world, session)).toMatchObject({ status: 'completed', metadata: {} })
    const refused = await world.store.openTurn(draftTurn(world, session))
    expect(refused).toMatchObject({ outcome: 'refused', reason: 'completed' })
  })

  contractTest('session changes persist when the store is reopened', async (world) => {
    const userId = await world.createUser()
    const [kept, done, gone] = [
      await opened(world, userId, { metadata: { a: 1 } }),
      await opened(world, userId),
      await opened(world, userId),
    ]
    await converse(world, kept, 'hello')
    await update(world, done, { complete: true, metadata: { b: 2 } })
    await world.store.deleteSession({ userId, sessionId: gone.id })
    const before = await world.store.listSessions({ userId, ...all })
    const messages = await world.store.listMessages({ userId, sessionId: kept.id, ...all })
    await world.reopen()
    expect(await world.store.listSessions({ userId, ...all })).toEqual(before)
    expect(await world.store.listMessages({ userId, sessionId: kept.id, ...all })).toEqual(messages)
    expect(await read(world, gone)).toBeUndefined()
  })

  contractTest('deletes a session with its messages, but not during a turn, and keeps charges', async (world) => {
    const session = await opened(world, await world.createUser(1000))
    const { id: sessionId, userId } = session
    await converse(world, session, 'hello')
    const turn = draftTurn(world, session)
    await world.store.openTurn(turn)
    expect(await world.store.deleteSession({ userId, sessionId })).toMatchObject({ outcome: 'busy' })
    expect(await world.store.listMessages({ userId, sessionId, ...all })).toMatchObject({ total: 2 })
    await world.store.settleTurn(finished(turn.turnId, 'again'))
    const charges = await world.store.listTransactions({ userId, sessionId, ...all })
    expect(charges.total).toBe(2)

    expect(await world.store.deleteSession({ userId, sessionId })).toMatchObject({ outcome: 'deleted' })
    expect(await world.store.deleteSession({ userId, sessionId })).toMatchObject({ outcome: 'unknown' })
    expect(await read(world, session)).toBeUndefined()
    expect(await world.store.listMessages({ userId, sessionId, ...all })).toBeUndefined()
    expect(await world.store.readHistory({ sessionId, tokensMax: 1000 })).toEqual({
      messages: [],
      tokens: 0,
      cachedAt: null,
    })
    expect(await world.store.listTransactions({ userId, sessionId, ...all })).toEqual(charges)
    expect(await world.balance(userId)).toBe(960)
  })
}

function describeHistories(contractTest: ContractTest): void {
  contractTest('reads a history of large messages completely and in order', async (world) => {
    const session = await opened(world, await world.createUser())
    const texts = Array.from({ length: 8 }, (_, n) => `${n}${'x'.repeat(700_000)}`)
    for (const text of texts) await converse(world, session, text)
    const read = await world.store.readHistory({ sessionId: session.id, tokensMax: 1000 })
    const said = read.messages.map(({ content, role }) => `${role} ${content.slice(0, 8)}`)
    expect(said).toEqual(texts.flatMap((_, n) => [`user ${n}xxxxxxx`, `assistant re: ${n}xxx`]))
    expect(read.tokens).toBe(16)
    const newest = await world.store.readHistory({ sessionId: session.id, tokensMax: 5 })
    expect(newest.messages).toEqual(read.messages.slice(-4))
  })

  contractTest('limits message pages by bytes, with at least one message each, and skips no message', async (world) => {
    const session = await opened(world, await world.createUser())
    const { id: sessionId, userId } = session
    for (const text of ['a', 'b'.repeat(3000), 'c']) await converse(world, session, text)
    const whole = await world.store.listMessages({ userId, sessionId, ...all })
    const read: unknown[] = []
    const counts: number[] = []
    while (read.length < 6) {
      const page = must(
        await world.store.listMessages({ userId, sessionId, limit: 4, offset: read.length, bytesMax: 2000 }),
        'the session',
      )
      expect(page.total).toBe(6)
      read.push(...page.messages)
      counts.push(page.messages.length)
    }
    expect(read).toEqual(whole?.messages)
    expect(counts).toEqual([2, 1, 1, 2])
  })
}

function describeMetadata(contractTest: ContractTest): void {
  contractTest('merges metadata key by key, without special keys', async (world) => {
    const own = JSON.parse('{"__proto__":{"x":1},"constructor":1,"keep":[null],"drop":1}')
    const session = await opened(world, await world.createUser(), { metadata: own })
    expect(JSON.stringify((await read(world, session))?.metadata)).toBe(JSON.stringify(own))
    const changes = JSON.parse('{"__proto__":{"y":2},"constructor":null,"toString":3,"drop":null,"none":null}')
    const result = await update(world, session, { metadata: changes })
    const merged = '{"__proto__":{"y":2},"keep":[null],"toString":3}'
    expect(result.outcome === 'updated' && JSON.stringify(result.session.metadata)).toBe(merged)
    expect(JSON.stringify((await read(world, session))?.metadata)).toBe(merged)
    const removal = JSON.parse('{"__proto__":null,"toString":null}')
    await update(world, session, { metadata: removal })
    expect(JSON.stringify((await read(world, session))?.metadata)).toBe('{"keep":[null]}')
    expect(({} as Record<string, unknown>)['y']).toBeUndefined()
  })

  contractTest('accepts 16,384 bytes of merged metadata and rejects one byte more without changes', async (world) => {
    const session = await opened(world, await world.createUser(), { metadata: { a: 'x'.repeat(16_000) } })
    world.clock.advance(1)
    const fill = 'y'.repeat(16_384 - 16_000 - '{"a":"","b":""}'.length)
    for (const b of [`${fill}y`, `${fill.slice(1)}é`]) {
      const result = await update(world, session, { complete: true, metadata: { b } })
      expect(result).toEqual({ outcome: 'refused', reason: 'metadata-too-large' })
      expect(await read(world, session)).toEqual(session)
    }
    expect(await update(world, session, { metadata: { b: fill } })).toMatchObject({ outcome: 'updated' })
  })

  contractTest('simultaneous updates lose no metadata key', async (world) => {
    const session = await opened(world, await world.createUser())
    const keys = Array.from({ length: 50 }, (_, index) => `key${index}`)
    await Promise.all(keys.map((key) => update(world, session, { metadata: { [key]: 1 } })))
    const { metadata } = must(await read(world, session), 'the session')
    expect(Object.keys(metadata).toSorted()).toEqual(keys.toSorted())
  })
}

function describeSessionLists(contractTest: ContractTest): void {
  contractTest('lists sessions newest first, even within the same millisecond', async (world) => {
    const userId = await world.createUser()
    const ids: string[] = []
    for (let index = 0; index < 24; index++) {
      ids.push((await opened(world, userId)).id)
      if (index % 6 === 5) world.clock.advance(1)
    }
    const { sessions, total } = await world.store.listSessions({ userId, ...all })
    expect([sessions.map(({ id }) => id), total]).toEqual([ids.toReversed(), 24])
  })

  contractTest('every filter matches the sessions, with correct pages and totals', async (world) => {
    const [userId, other] = [await world.createUser(), await world.createUser()]
    const agents = ['text', 'image', 'sound']
    for (let index = 0; index < 30; index++) {
      const session = await opened(world, userId, { agentId: agents[index % 3]! })
      await opened(world, other, { agentId: agents[index % 3]! })
      if (index % 5 === 0) await update(world, session, { complete: true })
      world.clock.advance(3_600_000)
    }
    const whole = await world.store.listSessions({ userId, ...all })
    expect(new Set(whole.sessions.map(({ status }) => status))).toEqual(new Set(sessionStatuses))
    for (const session of whole.sessions) {
      const {
        continues: _continues,
        maxCost: _maxCost,
        metadata: _metadata,
        spent: _spent,
        ...item
      } = must(await world.store.getSession({ userId, sessionId: session.id }), 'the session')
      expect({ ...item, isReplying: false }).toEqual(session)
    }
    for (const status of [undefined, ...sessionStatuses]) {
      for (const agentId of [undefined, ...agents, 'unknown']) {
        const filter = { userId, ...(status && { status }), ...(agentId && { agentId }) }
        const expected = whole.sessions.filter(
          (session) => (!status || session.status === status) && (!agentId || session.agentId === agentId),
        )
        const found = await world.store.listSessions({ ...filter, ...all })
        expect(found).toEqual({ sessions: expected, total: expected.length })
        const page = await world.store.listSessions({ ...filter, limit: 3, offset: 2 })
        expect(page).toMatchObject({ sessions: expected.slice(2, 5), total: expected.length })
      }
    }
  })
}

function describeSessionKeys(contractTest: ContractTest): void {
  contractTest('one idempotency key and body creates one session; another body is rejected', async (world) => {
    const userId = await world.createUser()
    const create = (bodyHash: string, key = 'k') =>
      world.store.createSession(draftSession(world, userId, { idempotency: { key, bodyHash } }))
    const results = await Promise.all([create('a'), create('a'), create('b'), create('a')])
    expect(results.map(({ outcome }) => outcome)).toEqual(['created', 'replayed', 'refused', 'replayed'])
    const ids = results.map((result) => ('session' in result ? result.session.id : null))
    expect([ids[1], ids[3]]).toEqual([ids[0], ids[0]])
    expect((await create('b', 'other')).outcome).toBe('created')
    expect((await world.store.listSessions({ userId, ...all })).total).toBe(2)

    const sessionId = must(ids[0], 'was created')
    await world.store.deleteSession({ userId, sessionId })
    expect(await create('a')).toEqual({ outcome: 'refused', reason: 'idempotency-conflict' })
    world.clock.advance(dayMs)
    expect((await create('b')).outcome).toBe('created')
  })
}
