import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { newFolder, openIn, withRaw } from './sqlite-engine.ts'
import { converse, draftSession } from './session-contract.ts'
import { noLimits, StoreWorld } from './store-world.ts'

// A defect elsewhere, here a reopened row, must not move money twice. The store's commands fail and are rolled back.

async function openWorld() {
  const clock = new FakeClock()
  const dataDir = newFolder()
  const opened = openIn(dataDir, { clock: () => clock, limits: noLimits })
  const world = new StoreWorld({ clock, opened, notBefore: () => 0 })
  const reopen = (trigger: string, change: string) =>
    withRaw(dataDir, (raw) => {
      raw.exec(`DROP TRIGGER ${trigger}`)
      expect(raw.prepare(change).run().changes).toBe(1)
    })
  return { world, reopen, close: () => world.close().then(() => rmSync(dataDir, { recursive: true, force: true })) }
}

const error = { code: 'AGENT_ERROR', message: 'It failed.', details: '' }

test('a failed task that was reopened cannot be refunded again or interrupted', async () => {
  const { close, reopen, world } = await openWorld()
  const userId = await world.createUser(1000)
  const { attempt, id: taskId } = await world.failed(userId)
  reopen(
    'tasks_terminal',
    `UPDATE tasks SET status = 'processing', completed_at = NULL, error_code = NULL, error_message = NULL,
       error_details = NULL WHERE id = '${taskId}'`,
  )
  const before = await world.everything(userId)
  await expect(world.store.failTask({ taskId, attempt, error, countsAsAbuse: true })).rejects.toThrow('UNIQUE')
  await expect(world.store.interruptTask({ taskId, attempt, error, retries: 0 })).rejects.toThrow('UNIQUE')
  expect(await world.everything(userId)).toEqual(before)
  expect(await world.balance(userId)).toBe(1000)
  await close()
})

test('a deleted task cannot be charged again under the same id', async () => {
  const { close, reopen, world } = await openWorld()
  const userId = await world.createUser(1000)
  const draft = world.draft(userId)
  expect(await world.store.admitTask(draft)).toMatchObject({ outcome: 'accepted' })
  reopen('tasks_terminal', `DELETE FROM tasks WHERE id = '${draft.taskId}'`)
  await expect(world.store.admitTask(draft)).rejects.toThrow('UNIQUE constraint failed: transactions.task_id')
  expect(await world.balance(userId)).toBe(900)
  expect((await world.store.getTask({ userId, taskId: draft.taskId }))?.id).toBeUndefined()
  await close()
})

test('a settled chat turn that was reopened cannot be charged again', async () => {
  const { close, reopen, world } = await openWorld()
  const userId = await world.createUser(1000)
  const created = await world.store.createSession(draftSession(world, userId))
  if (created.outcome !== 'created') throw new Error(created.outcome)
  await converse(world, created.session, 'Hello')
  const { transactions } = await world.store.listTransactions({ userId, limit: 10, offset: 0 })
  const { sessionId, turnId } = transactions.find(({ type }) => type === 'chat_charge')!
  reopen('turns_settled', `UPDATE turns SET settled_at = NULL, cost = NULL, outcome = NULL WHERE id = '${turnId}'`)
  const balance = await world.balance(userId)
  const exchange = { message: { content: 'Hello', tokens: 1 }, reply: { content: 'Hi', tokens: 1, toolCalls: [] } }
  const { breakdown } = transactions.find(({ type }) => type === 'chat_charge')!
  const again = { turnId: turnId!, outcome: 'finished', cost: 20, breakdown: breakdown!, exchange } as const
  await expect(world.store.settleTurn(again)).rejects.toThrow('UNIQUE constraint failed: transactions.turn_id')
  expect(await world.balance(userId)).toBe(balance)
  const read = await world.store.getSession({ userId, sessionId: sessionId! })
  expect(read?.messageCount).toBe(2)
  await close()
})
