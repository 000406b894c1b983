import { expect, test } from 'vitest'
import { waitersMax } from '../../server/tasks/task-ends.ts'
import { startService } from '../support/test-service.ts'

test('answers long polls beyond the per-account maximum immediately; other accounts can still wait', async () => {
  const service = await startService({ limits: { executionsPerMinute: 0, taskConcurrency: 0 } })
  const [person, other] = [await service.createPerson(), await service.createPerson()]
  const { ends } = service.app.services.tasks
  let waiting = 0
  const { wait } = ends
  ends.wait = (of, how) => {
    const waiter = wait.call(ends, of, how)
    if (!waiter.isOver) waiting++
    return waiter
  }
  const { taskId } = (await service.createTask(person.key, 'test.echo')).body
  const theirs = (await service.createTask(other.key, 'test.echo')).body.taskId
  const controller = new AbortController()
  const held = (key: string, id: string) =>
    fetch(`${service.url}/api/tasks/${id}?wait=60`, {
      headers: { Authorization: `Bearer ${key}` },
      signal: controller.signal,
    }).catch(() => undefined)
  const all = Array.from({ length: waitersMax }, () => held(person.key, taskId))
  await expect.poll(() => waiting, { timeout: 20_000 }).toBe(waitersMax)
  const startedAt = performance.now()
  const unheld = await service.get(`/api/tasks/${taskId}?wait=60`, person.key)
  expect([unheld.status, unheld.body.status]).toEqual([200, 'pending'])
  expect(performance.now() - startedAt).toBeLessThan(30_000)
  expect((await service.get(`/api/tasks/${taskId}`, person.key)).status).toBe(200)
  all.push(held(other.key, theirs))
  await expect.poll(() => waiting, { timeout: 20_000 }).toBe(waitersMax + 1)
  controller.abort()
  await Promise.all(all)
  // Now a slot is free again.
  const again = async () => {
    expect((await service.get(`/api/tasks/${taskId}?wait=1`, person.key)).status).toBe(200)
    return waiting
  }
  await expect.poll(again, { timeout: 20_000 }).toBeGreaterThan(waitersMax + 1)
  await service.stop()
})
