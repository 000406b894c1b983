import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { RunLog } from '../../server/tasks/run-log.ts'
import { signUpAdmin } from '../api/signed-in.ts'
import { startService } from '../support/test-service.ts'
import config from './progress-agents.ts'
import { unlimited } from './task-checks.ts'

const configFile = fileURLToPath(new URL('./progress-agents.ts', import.meta.url))
const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

test.each([
  { where: 'inline', options: {} },
  { where: 'in a thread', options: { configFile } },
])('an ended task shows its messages to its user and its log lines to admins ($where)', async ({ options }) => {
  const service = await startService({ config, ...options, limits: unlimited })
  const { key, userId } = await service.createPerson()
  const { browser } = await signUpAdmin(service)
  const read = async (id: string) => (await browser.get(`/api/users/${userId}/tasks/${id}`)).body
  const lines = [['Fetching', { url: 'a' }], ['Fetched'], [7, [1]]]
  for (const fails of [false, true]) {
    const task = await service.runTask(key, 'tell.logs', { lines, steps: ['One', 'One', 'Two'], fails })
    expect(task.status).toBe(fails ? 'failed' : 'completed')
    expect(task.progressLog).toEqual({
      dropped: 0,
      lines: [
        { at, message: 'One' },
        { at, message: 'Two' },
      ],
    })
    expect(task).not.toHaveProperty('log')
    const seen = await read(task.id)
    expect(seen.log).toEqual({
      dropped: 0,
      lines: [
        { at, message: 'Fetching', fields: { url: 'a' } },
        { at, message: 'Fetched' },
        { at, message: '7', fields: [1] },
      ],
    })
    expect(seen).not.toHaveProperty('progressLog')
  }
  const silent = await service.runTask(key, 'tell.echo', {})
  expect(silent).not.toHaveProperty('progressLog')
  expect(await read(silent.id)).not.toHaveProperty('log')
  expect(await service.app.store.getTask({ userId, taskId: silent.id })).toMatchObject({ runLog: null })
  await service.stop()
})

test('keeps the newest 200 lines of at most 16 KB, and counts the others', () => {
  const log = new RunLog()
  expect(log.json).toBeUndefined()
  for (let n = 1; n <= 250; n++) log.addLine({ at: '', message: `${n}` })
  const { log: kept } = JSON.parse(log.json!) as { log: { dropped: number; lines: { message: string }[] } }
  expect(kept.dropped).toBe(50)
  expect(kept.lines.map(({ message }) => message)).toEqual(Array.from({ length: 200 }, (_, n) => `${n + 51}`))

  for (let n = 0; n < 20; n++) log.addLine({ at: '', message: '€'.repeat(9000), fields: { text: 'x'.repeat(2000) } })
  const large = JSON.parse(log.json!) as { log: { dropped: number; lines: { message: string; fields?: unknown }[] } }
  expect(Buffer.byteLength(JSON.stringify(large.log.lines))).toBeLessThanOrEqual(16 * 1024 + 2)
  expect(large.log.lines).toEqual([...Array(2)].map(() => ({ at: '', message: '€'.repeat(2000) })))
  expect(large.log.dropped).toBe(268)
})
