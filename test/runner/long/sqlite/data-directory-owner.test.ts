import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runErrand, startProcess } from '../../../support/test-process.ts'
import { newDataDir } from '../../../support/test-service.ts'
import { openAccount, ProcessClient } from '../../process-client.ts'
import { rogueFile } from '../../task-checks.ts'

test('a second server on a data directory exits with 1 immediately and states the reason', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  const first = await startProcess({ dataDir, config: rogueFile })
  const client = new ProcessClient(first.url, key)
  const serveArgs = ['serve', '--data', dataDir, '--config', rogueFile, '--port', '0']
  const [second, third] = await Promise.allSettled([runErrand(serveArgs), runErrand(serveArgs)])
  for (const refused of [second, third]) {
    expect(refused).toMatchObject({
      status: 'rejected',
      reason: {
        code: 1,
        stdout: '',
        stderr: `errand: Another Errand server is using the data directory ${dataDir}. Stop it, or choose another directory with --data.\n`,
      },
    })
  }
  expect(await client.runTask('rogue.echo', { still: 'here' })).toMatchObject({ status: 'completed' })
  expect(await first.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('a data directory is available immediately after its server was killed', async () => {
  const dataDir = newDataDir()
  const { key } = await openAccount(dataDir)
  for (let round = 0; round < 3; round++) {
    const server = await startProcess({ dataDir, config: rogueFile })
    const client = new ProcessClient(server.url, key)
    expect(await client.runTask('rogue.echo', { round })).toMatchObject({ status: 'completed' })
    await server.end('SIGKILL')
  }
  rmSync(dataDir, { recursive: true })
})
