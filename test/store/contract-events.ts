import { expect } from 'vitest'
import { newId } from '../../server/kernel/ids.ts'
import { nothingUsed } from '../../server/store/sessions/turn-endings.ts'
import type { ContractTest } from './store-contract.ts'
import { agentError, interrupted, type StoreWorld } from './store-world.ts'

const day = 86_400_000
const response = { text: '{"summary":"hi"}', payloadId: null }
const canceled = { code: 'CANCELED', message: 'The caller canceled it.', details: '' }
const expired = { code: 'EXPIRED', message: 'Nobody began it in time.', details: '' }

type Body = { type: string; timestamp: string; data: Record<string, unknown> }

async function eventsOf(world: StoreWorld, userId: string): Promise<Body[]> {
  return (await world.events(userId)).map(({ body }) => JSON.parse(body) as Body)
}

export async function openSession(world: StoreWorld, userId: string): Promise<string> {
  const sessionId = newId('ses', world.clock.now())
  await world.store.createSession({ sessionId, userId, agentId: 'text', metadata: {}, idempotency: null })
  return sessionId
}

async function openTurn(world: StoreWorld, userId: string, sessionId: string): Promise<string> {
  const turnId = newId('turn', world.clock.now())
  const money = { required: 50, hold: 50 }
  const opened = await world.store.openTurn({ turnId, userId, sessionId, idempotency: null, ...money })
  expect(opened).toMatchObject({ outcome: 'opened' })
  return turnId
}

export function describeEvents(contractTest: ContractTest): void {
  contractTest('every kind of task end writes its event, without any content', async (world) => {
    const userId = await world.createListener(0)
    await world.store.credit({ userId, amount: 1000, description: 'secret words', idempotencyKey: null })
    const request = { text: '{"text":"secret words"}', payloadId: null }
    const ids = {
      completed: (await world.completed(userId, { request })).id,
      failed: (await world.failed(userId, { request })).id,
      interrupted: (await world.processing(userId, { request })).id,
      canceled: await world.pending(userId, { request }),
      expired: await world.pending(userId, { request, expiresInMs: 1000 }),
    }
    const left = { attempt: 1, error: interrupted, retries: 0 }
    expect(await world.store.interruptTask({ taskId: ids.interrupted, ...left })).toBe('failed')
    await world.store.cancelTask({ userId, taskId: ids.canceled, error: canceled, mayStopWork: true })
    world.clock.advance(1000)
    expect(await world.store.expireTask({ taskId: ids.expired, error: expired })).toBe(true)
    const [credit, ...ends] = (await eventsOf(world, userId)).toSorted((a, b) => a.type.localeCompare(b.type))
    expect(credit).toMatchObject({ type: 'credit.added', data: { amountUsd: '0.1000', balanceUsd: '0.1000' } })
    const codes = [undefined, 'AGENT_ERROR', 'AGENT_INTERRUPTED', 'CANCELED', 'EXPIRED']
    expect(ends.map(({ data }) => data.taskId).toSorted()).toEqual(Object.values(ids).toSorted())
    expect(ends.map(({ data }) => data.errorCode).toSorted()).toEqual(codes.toSorted())
    for (const { data, timestamp, type } of ends) {
      const task = await world.read(userId, data.taskId as string)
      expect(type).toBe(`task.${task.status}`)
      expect(timestamp).toBe(new Date(task.completedAt!).toISOString())
      const { agentId, endpointId, status } = task
      expect(data).toEqual({
        taskId: task.id,
        agentId,
        endpointId,
        status,
        costUsd: '0.0100',
        refundedUsd: task.error ? '0.0100' : '0.0000',
        ...(task.error && { errorCode: task.error.code }),
      })
    }
    for (const { body } of await world.events(userId)) {
      expect(body).not.toContain('secret')
      expect(Buffer.byteLength(body)).toBeLessThan(1024)
    }
  })

  contractTest('parallel and stale attempts to end a task write only one event', async (world) => {
    const userId = await world.createListener(1000)
    const { id: taskId } = await world.processing(userId)
    const before = await world.events(userId)
    for (const attempt of [0, 2]) {
      expect(await world.store.completeTask({ taskId, attempt, response })).toBe(false)
      expect(await world.store.failTask({ taskId, attempt, error: agentError, countsAsAbuse: true })).toBe(false)
    }
    expect(await world.store.expireTask({ taskId, error: expired })).toBe(false)
    expect(await world.events(userId)).toEqual(before)
    const ends = Array.from({ length: 6 }, (_, n) =>
      n % 2 === 0
        ? world.store.completeTask({ taskId, attempt: 1, response })
        : world.store.failTask({ taskId, attempt: 1, error: agentError, countsAsAbuse: true }),
    )
    expect((await Promise.all(ends)).filter(Boolean)).toHaveLength(1)
    expect(await world.events(userId)).toHaveLength(before.length + 1)
  })

  contractTest('tasks and turns of users without enabled webhooks end without an event', async (world) => {
    const userId = await world.createUser(1000)
    const webhookId = newId('hook', world.clock.now())
    await world.store.webhooks.create({
      userId,
      webhookId,
      url: 'https://a.example.com',
      description: '',
      types: null,
      sealed: 'sealed',
    })
    await world.store.webhooks.update({ userId, webhookId, changes: { isEnabled: false } })
    await world.completed(userId)
    await world.failed(userId)
    const sessionId = await openSession(world, userId)
    const turnId = await openTurn(world, userId, sessionId)
    const settling = { turnId, outcome: 'finished', cost: 30, breakdown: nothingUsed, exchange: null } as const
    await world.store.settleTurn(settling)
    expect((await eventsOf(world, userId)).map(({ type }) => type)).toEqual(['credit.added'])
    expect(await world.verify()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('rolled-back commands leave no event behind', async (world) => {
    const userId = await world.createListener(1000)
    const before = await world.events(userId)
    for (const amount of [0.5, Number.NaN, -1001]) {
      const credit = { userId, amount, description: 'Top-up', idempotencyKey: null }
      await world.store.credit(credit).catch(() => undefined)
    }
    const { id: taskId } = await world.processing(userId)
    // The payload id already exists, so the statement fails after the end was written.
    const payloadId = newId('pay', world.clock.now())
    const taken = await world.processing(userId)
    await world.store.completeTask({ taskId: taken.id, attempt: 1, response: { text: '{', payloadId } })
    const ending = { taskId, attempt: 1, response: { text: '{', payloadId } }
    await expect(world.store.completeTask(ending)).rejects.toThrow()
    expect((await world.read(userId, taskId)).status).toBe('processing')
    expect(await world.events(userId)).toHaveLength(before.length + 1)
  })

  contractTest('settled and abandoned turns write their events', async (world) => {
    const userId = await world.createListener(1000)
    const sessionId = await openSession(world, userId)
    const turnId = await openTurn(world, userId, sessionId)
    const settling = { turnId, outcome: 'finished', cost: 30, breakdown: nothingUsed, exchange: null } as const
    const settled = await Promise.all([world.store.settleTurn(settling), world.store.settleTurn(settling)])
    expect(settled.filter((one) => one !== undefined)).toHaveLength(1)
    world.clock.advance(1)
    const left = await openTurn(world, userId, sessionId)
    expect(await world.store.closeAbandonedTurns()).toBe(1)
    const bodies = (await eventsOf(world, userId)).filter(({ type }) => type === 'chat.settled')
    expect(bodies.map(({ data }) => data)).toEqual([
      { turnId, sessionId, agentId: 'text', outcome: 'finished', costUsd: '0.0030' },
      { turnId: left, sessionId, agentId: 'text', outcome: 'failed', costUsd: '0.0000' },
    ])
  })

  contractTest('a credit writes one event, a deduction writes none', async (world) => {
    const userId = await world.createUser(0)
    const credit = { userId, amount: 500, description: 'Top-up', idempotencyKey: 'one' }
    await Promise.all([world.store.credit(credit), world.store.credit(credit)])
    await world.store.credit({ userId, amount: -200, description: 'Correction', idempotencyKey: null })
    const bodies = await eventsOf(world, userId)
    expect(bodies).toMatchObject([{ type: 'credit.added', data: { amountUsd: '0.0500', balanceUsd: '0.0500' } }])
  })

  contractTest('an expired session is reported once, a completed one never', async (world) => {
    const userId = await world.createUser(1000)
    const [sessionId, ended, atWork] = [
      await openSession(world, userId),
      await openSession(world, userId),
      await openSession(world, userId),
    ]
    const change = { userId, complete: true, activate: false, metadata: {} }
    await world.store.updateSession({ ...change, sessionId: ended })
    await openTurn(world, userId, atWork)
    const ofSessions = async () => (await eventsOf(world, userId)).filter(({ type }) => type === 'session.expired')
    expect(await world.store.noteExpired()).toBe(false)
    expect(await ofSessions()).toEqual([])
    world.clock.advance(day)
    expect(await Promise.all([world.store.noteExpired(), world.store.noteExpired()])).toEqual([false, false])
    expect(await ofSessions()).toMatchObject([{ data: { sessionId, agentId: 'text' } }])
    world.clock.advance(day)
    expect(await world.store.noteExpired()).toBe(false)
    expect(await ofSessions()).toHaveLength(1)
    await world.store.closeAbandonedTurns()
    await world.store.noteExpired()
    expect((await ofSessions()).map(({ data }) => data.sessionId)).toEqual([sessionId, atWork])
  })

  contractTest('deletes events after seven days, and the ledger check accepts that', async (world) => {
    const userId = await world.createListener(100_000)
    for (let n = 0; n < 12; n++)
      await world.store.credit({ userId, amount: n + 1, description: '', idempotencyKey: null })
    world.clock.advance(7 * day - 1)
    const late = await world.completed(userId)
    await world.purge()
    expect(await world.events(userId)).toHaveLength(14)
    world.clock.advance(1)
    await world.purge()
    expect((await eventsOf(world, userId)).map(({ data }) => data.taskId)).toEqual([late.id])
    // The check does not report purged events as missing, but still reports later ones.
    expect(await world.verify()).toMatchObject({ ok: true })
  })

  contractTest(
    'the ledger check finds missing events and events without a cause',
    async (world) => {
      const userId = await world.createListener(1000)
      const task = await world.completed(userId)
      const failed = await world.failed(userId)
      const sessionId = await openSession(world, userId)
      await openTurn(world, userId, sessionId)
      await world.store.closeAbandonedTurns()
      expect(await world.verify()).toMatchObject({ ok: true })
      const whats = async () => (await world.verify()).differences.map(({ taskId, what }) => [what, taskId])
      await world.tamper({ what: 'event-type', taskId: failed.id })
      expect(await whats()).toEqual([
        ['each ended task has its event', failed.id],
        ['each event of a task, turn, credit or payment matches a stored one', undefined],
        ['each event is unchanged since it was written', undefined],
      ])
      await world.tamper({ what: 'events-removed', userId })
      expect((await whats()).toSorted()).toEqual([
        ['each credit has its event', undefined],
        ...[
          ['each ended task has its event', task.id],
          ['each ended task has its event', failed.id],
        ].toSorted(),
        ['each settled turn has its event', undefined],
      ])
    },
    { tampers: true },
  )
}
