import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import config from '../runner/progress-agents.ts'
import { signalFiles, soon, unlimited, untilBegun } from '../runner/task-checks.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startNodes } from './start-nodes.ts'

test('a follower at one node gets start, progress and end of a task that another node runs', async () => {
  const { nodes, start, stop } = await startNodes({ config, limits: { ...unlimited, taskConcurrency: 0 } })
  const asked = nodes[0]!
  const { key } = await asked.createPerson()
  const files = signalFiles(asked.dataDir)
  const { taskId } = (await asked.createTask(key, 'tell.steps', { steps: 4, ...files })).body
  const reader = await ChatReader.open({ url: asked.url, key, path: `/api/tasks/${taskId}/events` })
  expect(await reader.until('state')).toMatchObject({ status: 'pending', attempt: 0 })
  await start({ config, limits: unlimited })
  await untilBegun(files)
  // The start and the first progress may arrive together or separately.
  await expect.poll(() => reader.text, soon).toContain('Step 4')
  writeFileSync(files.release, '')
  const events = await reader.all()
  expect(events[1]).toMatchObject({ type: 'state', status: 'processing', attempt: 1 })
  expect(events.filter(({ type }) => type === 'end')).toEqual([events.at(-1)])
  expect(events.at(-1)).toMatchObject({ task: { status: 'completed', progress: { message: 'Done' } } })
  await stop()
})
