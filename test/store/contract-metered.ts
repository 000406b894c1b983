import { expect } from 'vitest'
import type { AdmitTask } from '../../server/store/tasks/task-types.ts'
import { rates, tokensFor } from './token-drafts.ts'
import type { ContractTest } from './store-contract.ts'
import { agentError, interrupted, type StoreWorld } from './store-world.ts'

const meters = { page: 20, figure: 300 }
/** Input for a metered task. `cost` is the maximum. */
const metered: Partial<AdmitTask> = { cost: 1000, meters }
const response = { text: '{}', payloadId: null }

async function transactionsOf({ store }: StoreWorld, userId: string, taskId: string) {
  const { transactions } = await store.listTransactions({ userId, taskId, limit: 10, offset: 0 })
  return transactions.map(({ amount, type }) => ({ type, amount })).toReversed()
}

export function describeMetered(contractTest: ContractTest): void {
  contractTest('charges a metered task its maximum cost and rejects it without enough balance', async (world) => {
    const userId = await world.createUser(1500)
    const taskId = await world.pending(userId, metered)
    expect(await world.balance(userId)).toBe(500)
    expect(await world.read(userId, taskId)).toMatchObject({ cost: 1000, givenBack: 0, meters, usage: null })
    await world.expectRefused(world.draft(userId, metered), { outcome: 'refused', reason: 'balance', required: 1000 })
  })

  contractTest('completing a metered task gives back exactly the unused amount, once', async (world) => {
    const userId = await world.createListener(5000)
    const { attempt, id: taskId } = await world.processing(userId, metered)
    const done = { taskId, attempt, response, usage: { page: 4, figure: 1 } }
    expect(await world.store.completeTask(done)).toBe(true)
    expect(await world.store.completeTask({ ...done, usage: { page: 1 } })).toBe(false)
    expect(await world.read(userId, taskId)).toMatchObject({
      status: 'completed',
      cost: 380,
      givenBack: 620,
      usage: { page: 4, figure: 1 },
    })
    const { body } = (await world.events(userId)).find(({ type }) => type === 'task.completed')!
    expect(JSON.parse(body).data).toMatchObject({ costUsd: '0.0380', refundedUsd: '0.0620' })
    expect(await transactionsOf(world, userId, taskId)).toEqual([
      { type: 'task_charge', amount: -1000 },
      { type: 'adjustment', amount: 620 },
    ])
    expect(await world.balance(userId)).toBe(5000 - 380)
    const { adjustment, given_back: givenBack, task_charge: charged } = (await world.store.readState()).posted
    expect({ adjustment, givenBack, charged }).toEqual({
      adjustment: { count: 0, units: 0 },
      givenBack: { count: 1, units: 620 },
      charged: { count: 1, units: 1000 },
    })
  })

  contractTest('gives back everything for no usage and nothing for full usage', async (world) => {
    const userId = await world.createUser(5000)
    for (const { cost, usage } of [
      { cost: 0, usage: {} },
      { cost: 1000, usage: { page: 50 } },
    ]) {
      const { attempt, id: taskId } = await world.processing(userId, metered)
      expect(await world.store.completeTask({ taskId, attempt, response, usage })).toBe(true)
      expect(await world.read(userId, taskId)).toMatchObject({ cost, givenBack: 1000 - cost, usage })
    }
    const { transactions } = await world.store.listTransactions({ userId, type: 'adjustment', limit: 10, offset: 0 })
    expect(transactions.map(({ amount }) => amount)).toEqual([1000])
  })

  contractTest('a failed metered task is refunded in full with one transaction', async (world) => {
    const userId = await world.createUser(5000)
    const { id: taskId } = await world.failed(userId, metered)
    expect(await world.read(userId, taskId)).toMatchObject({ cost: 1000, givenBack: 0, usage: null })
    expect(await transactionsOf(world, userId, taskId)).toEqual([
      { type: 'task_charge', amount: -1000 },
      { type: 'task_refund', amount: 1000 },
    ])
    expect(await world.balance(userId)).toBe(5000)
  })

  contractTest('an interrupted attempt gives nothing back, even if it reports usage later', async (world) => {
    const userId = await world.createUser(5000)
    const { id: taskId } = await world.processing(userId, metered)
    const interruption = { taskId, attempt: 1, error: interrupted, retries: 1 }
    expect(await world.store.interruptTask(interruption)).toBe('requeued')
    const late = { taskId, attempt: 1, response, usage: { page: 1 } }
    expect(await world.store.completeTask(late)).toBe(false)
    expect(await world.store.claimTask(taskId)).toMatchObject({ attempt: 2, cost: 1000, meters })
    expect(await world.store.completeTask(late)).toBe(false)
    expect(await world.balance(userId)).toBe(4000)
    expect(await world.store.completeTask({ ...late, attempt: 2, usage: { page: 3 } })).toBe(true)
    expect(await world.read(userId, taskId)).toMatchObject({ cost: 60, givenBack: 940, usage: { page: 3 } })
    expect(await world.balance(userId)).toBe(4940)
  })

  contractTest('after a crash a task costs its full charge until its next attempt ends', async (world) => {
    const userId = await world.createUser(5000)
    const { attempt, id: taskId } = await world.processing(userId, metered)
    await world.store.noteProgress([{ taskId, attempt, progress: '{"fraction":0.5}' }])
    await world.reopen()
    expect(await world.read(userId, taskId)).toMatchObject({ cost: 1000, givenBack: 0, progress: '{"fraction":0.5}' })
    const again = { taskId, attempt, error: interrupted, retries: 1, ifAbandoned: true }
    expect(await world.store.interruptTask(again)).toBe('requeued')
    expect(await world.store.claimTask(taskId)).toMatchObject({ attempt: 2, progress: null })
    expect(await world.store.interruptTask({ ...again, attempt: 2 })).toBe('failed')
    expect(await world.balance(userId)).toBe(5000)
  })

  contractTest('only one of several parallel ends of a metered task counts', async (world) => {
    const userId = await world.createUser(5000)
    const { attempt, id: taskId } = await world.processing(userId, metered)
    const ends = [1, 2, 3, 4].map((page) => world.store.completeTask({ taskId, attempt, response, usage: { page } }))
    const failure = world.store.failTask({ taskId, attempt, error: agentError, countsAsAbuse: true })
    expect((await Promise.all([...ends, failure])).filter(Boolean)).toHaveLength(1)
  })

  contractTest('a token-priced task costs its tokens, at most its charge, and is sound', async (world) => {
    const userId = await world.createUser(5000)
    const priced = { cost: 1000, rates: [rates] }
    const { attempt, id: taskId, rates: atAdmission } = await world.processing(userId, priced)
    expect(atAdmission).toEqual([rates])
    const tokens = tokensFor(31, '0.003000001')
    await expect(
      world.store.completeTask({ taskId, attempt, response, tokens: { ...tokens, cost: 1001 } }),
    ).rejects.toThrow('tokens do not cost more than the charge')
    expect(await world.store.completeTask({ taskId, attempt, response, tokens, providerCost: 20 })).toBe(true)
    expect(await world.store.completeTask({ taskId, attempt, response, tokens })).toBe(false)
    expect(await world.read(userId, taskId)).toMatchObject({
      cost: 31,
      givenBack: 969,
      usage: null,
      rates: [rates],
      tokens: tokens.used,
    })
    const { attempt: capped, id: cappedId } = await world.processing(userId, priced)
    await world.store.completeTask({
      taskId: cappedId,
      attempt: capped,
      response,
      tokens: tokensFor(1000, '7.000000000'),
    })
    const { id: failedId } = await world.failed(userId, priced)
    expect(await world.read(userId, failedId)).toMatchObject({ cost: 1000, givenBack: 0, tokens: null })
    expect(await world.balance(userId)).toBe(5000 - 31 - 1000)
    expect(await world.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
  })

  contractTest('reported usage does not affect a task with a fixed price', async (world) => {
    const userId = await world.createUser(5000)
    const { attempt, id: taskId } = await world.processing(userId, { cost: 100 })
    expect(await world.store.completeTask({ taskId, attempt, response, usage: {} })).toBe(true)
    expect(await world.read(userId, taskId)).toMatchObject({ cost: 100, givenBack: 0, usage: null })
    expect(await world.balance(userId)).toBe(4900)
  })

  contractTest(
    'rejects usage above the charge, unknown events and invalid counts without writing anything',
    async (world) => {
      const userId = await world.createUser(5000)
      const { attempt, id: taskId } = await world.processing(userId, metered)
      for (const usage of [{ page: 51 }, { toString: 1 }, { page: -1 }, { page: 0.5 }, { page: NaN }]) {
        await expect(world.store.completeTask({ taskId, attempt, response, usage })).rejects.toThrow('Assertion')
      }
      expect(await world.read(userId, taskId)).toMatchObject({ status: 'processing', cost: 1000 })
      expect(await world.balance(userId)).toBe(4000)
    },
  )

  contractTest('money given back reduces the spending of the day it was charged', async (world) => {
    const userId = await world.createUser(5000)
    const { attempt, createdAt, id: taskId } = await world.processing(userId, metered)
    world.clock.advance(2 * 86_400_000)
    await world.completed(userId, { cost: 5 })
    await world.store.completeTask({ taskId, attempt, response, usage: { page: 10 } })
    const page = { userId, afterSeq: 0, beforeSeq: Number.MAX_SAFE_INTEGER, limit: 100, stepMs: 86_400_000 }
    const day = Math.floor(createdAt / 86_400_000)
    const { oldestStep, steps } = await world.store.readSpend(page)
    expect(steps.toSorted((one, other) => one.step - other.step)).toEqual([
      { step: day, charged: 200, executions: 1, refunded: 0, failures: 0 },
      { step: day + 2, charged: 5, executions: 1, refunded: 0, failures: 0 },
    ])
    expect(oldestStep).toBe(day)
  })

  contractTest('sums up the charges for unfinished metered tasks by hour of creation', async (world) => {
    const hourMs = 3_600_000
    world.clock.advance(hourMs - (world.clock.now() % hourMs))
    const [userId, since] = [await world.createUser(10_000), world.clock.now()]
    const { attempt, id: taskId } = await world.processing(userId, metered)
    await world.processing(userId, { cost: 7 })
    world.clock.advance(hourMs)
    await world.pending(userId, { cost: 30, rates: [rates] })
    await world.pending(await world.createUser(), metered)
    const hour = Math.floor(since / hourMs)
    const read = async (from = since, until = since + 2 * hourMs) => {
      const rows = await world.store.books.readReserved({ userId, since: from, until })
      return rows.filter(({ reserved }) => reserved > 0).toSorted((one, other) => one.hour - other.hour)
    }
    const [first, second] = [
      { hour, reserved: 1000 },
      { hour: hour + 1, reserved: 30 },
    ]
    expect(await read()).toEqual([first, second])
    expect(await read(since + 1)).toEqual([second])
    expect(await read(since, since + hourMs)).toEqual([first])
    await world.store.completeTask({ taskId, attempt, response, usage: { page: 10 } })
    expect(await read()).toEqual([second])
  })

  contractTest(
    'the ledger check finds a completed task whose cost does not match its usage',
    async (world) => {
      const userId = await world.createUser(5000)
      const { attempt, id: taskId } = await world.processing(userId, metered)
      await world.store.completeTask({ taskId, attempt, response, usage: { page: 4, figure: 1 } })
      expect(await world.verify()).toMatchObject({ ok: true })
      await world.tamper({ what: 'task-usage', taskId, usage: '{"page":5,"figure":1}' })
      const found = { userId, taskId, expected: '0.0400', actual: '0.0380' }
      expect(await world.verify()).toMatchObject({ ok: false, differences: [found] })
    },
    { tampers: true },
  )

  contractTest(
    'reports unreadable usage as a difference and still finds other differences',
    async (world) => {
      const userId = await world.createUser(5000)
      const { attempt, id: taskId } = await world.processing(userId, metered)
      await world.store.completeTask({ taskId, attempt, response, usage: { page: 4, figure: 1 } })
      await world.tamper({ what: 'task-usage', taskId, usage: 'no JSON' })
      await world.tamper({ what: 'balance', userId, by: 500 })
      const { differences, ok } = await world.verify()
      expect(ok).toBe(false)
      expect(differences).toContainEqual(
        expect.objectContaining({ userId: null, actual: expect.stringMatching(/json/i) }),
      )
      expect(differences).toContainEqual(expect.objectContaining({ userId, expected: '0.4620', actual: '0.5120' }))
    },
    { tampers: true },
  )

  contractTest('stores progress only for the running attempt', async (world) => {
    const userId = await world.createUser(5000)
    const waiting = await world.pending(userId)
    const { attempt, id: taskId } = await world.processing(userId)
    const note = (ref: { taskId: string; attempt: number }, progress: string) =>
      world.store.noteProgress([{ ...ref, progress }])
    await note({ taskId: waiting, attempt: 0 }, '1')
    await note({ taskId, attempt: attempt + 1 }, '2')
    await note({ taskId: 'task_none', attempt: 1 }, '3')
    expect(await world.read(userId, waiting)).toMatchObject({ progress: null })
    expect(await world.read(userId, taskId)).toMatchObject({ progress: null })
    await world.store.noteProgress([
      { taskId, attempt, progress: '"kept"' },
      { taskId: waiting, attempt: 0, progress: '4' },
    ])
    expect(await world.read(userId, taskId)).toMatchObject({ progress: '"kept"', status: 'processing' })
    await world.store.completeTask({ taskId, attempt, response, progress: '"last"' })
    await note({ taskId, attempt }, '"late"')
    expect(await world.read(userId, taskId)).toMatchObject({ progress: '"last"', status: 'completed' })
  })

  contractTest('an ended task keeps its last progress, and a new attempt starts with none', async (world) => {
    const userId = await world.createUser(5000)
    const { attempt, id: taskId } = await world.processing(userId)
    await world.store.noteProgress([{ taskId, attempt, progress: '1' }])
    await world.store.interruptTask({ taskId, attempt, error: interrupted, retries: 1 })
    await world.store.noteProgress([{ taskId, attempt, progress: '2' }])
    expect(await world.read(userId, taskId)).toMatchObject({ progress: '1' })
    expect(await world.store.claimTask(taskId)).toMatchObject({ attempt: 2, progress: null })
    await world.store.noteProgress([{ taskId, attempt: 2, progress: '3' }])
    await world.store.failTask({ taskId, attempt: 2, error: agentError, countsAsAbuse: false })
    expect(await world.read(userId, taskId)).toMatchObject({ progress: '3', status: 'failed' })
  })
}
