import { hostname } from 'node:os'
import { expect, test } from 'vitest'
import { packageVersion } from '../../../../server/kernel/package-version.ts'
import { runErrand, startProcess } from '../../../support/test-process.ts'
import { newDataDir } from '../../../support/test-service.ts'
import { openAccount, ProcessClient } from '../../process-client.ts'

test('errand nodes lists the one server with its running tasks, and nothing once it was killed', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const nodes = async () => JSON.parse(await runErrand(['nodes', '--data', dataDir, '--json'])).nodes
  expect(await nodes()).toEqual([])
  const server = await startProcess({ dataDir })
  const client = new ProcessClient(server.url, key)
  const { body } = await client.createTask('test.wait', { ms: 14_000 })
  await expect.poll(async () => (await client.get(`/api/tasks/${body.taskId}`)).body.status).toBe('processing')
  const { pid } = server.child
  const node = { id: `${hostname()}:${pid}`, host: hostname(), pid, version: packageVersion }
  const [found, ...others] = await nodes()
  expect(found).toMatchObject({ ...node, runningTasks: 1, openTurns: 0 })
  expect(others).toEqual([])
  expect(Date.parse(found.startedAt)).toBeLessThan(Date.parse(found.lastSeenAt))
  expect(await runErrand(['nodes', '--data', dataDir])).toMatch(/^\S+:\d+ {2}\S+ {2}since .* 1 running tasks {2}0 open/)
  await server.end('SIGKILL')
  expect(await runErrand(['nodes', '--data', dataDir])).toBe('No server is running.\n')
})
