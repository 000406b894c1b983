import { expect, test } from 'vitest'
import { createTask, type CreateTaskParts } from '../../server/tasks/create-task.ts'

test.each([
  { chars: 1000, ticks: 0 },
  { chars: 100_000, ticks: 1 },
])('hashes params of $chars characters after waiting for $ticks ticks', async ({ chars, ticks }) => {
  const earlier = { bodyHash: 'of another body', resourceId: 'task_1' }
  const parts = {
    runner: { assertAccepting: () => {} },
    store: { findIdempotent: () => Promise.resolve(earlier) },
  } as unknown as CreateTaskParts
  let waits = 0
  const request = {
    caller: { userId: 'user_1' },
    input: { endpointId: 'a.b', params: { text: 'x'.repeat(chars) } },
    idempotencyKey: 'key',
    onLarge: () => Promise.resolve(void waits++),
  } as unknown as Parameters<typeof createTask>[1]
  await expect(createTask(parts, request)).rejects.toMatchObject({ status: 409 })
  expect(waits).toBe(ticks)
})
