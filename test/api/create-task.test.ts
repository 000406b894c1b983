import { expect, test } from 'vitest'
import { startService } from '../support/test-service.ts'

test('200 answers the id, pending and a message; the task is charged and completes', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson({ balanceUsd: '1.0000' })
  const created = await service.createTask(key, 'test.echo', { hello: 'world' })
  expect(created.status).toBe(200)
  expect(created.body).toEqual({
    taskId: expect.stringMatching(/^task_/),
    status: 'pending',
    message: expect.any(String),
  })
  const { body: task } = await service.get(`/api/tasks/${created.body.taskId}?wait=10`, key)
  expect(task).toMatchObject({
    userId,
    status: 'completed',
    response: { hello: 'world' },
    error: null,
    costUsd: '0.0100',
  })
  expect((await service.get('/api/account', key)).body.balanceUsd).toBe('0.9900')
  await service.stop()
})
