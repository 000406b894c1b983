import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { examine, findingOf, makeDatabase } from '../../support/examine.ts'
import { queryRows } from '../../support/test-engine.ts'
import { startProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'

test('the doctor finds a ledger that does not add up', async () => {
  const dataDir = await makeDatabase()
  await queryRows(dataDir, 'UPDATE accounts SET balance = balance + 1')
  const { code, report } = await examine(dataDir)
  expect([code, report.ok]).toEqual([1, false])
  expect(findingOf(report, 'database')).toMatchObject({ status: 'ok' })
  expect(findingOf(report, 'ledger')).toMatchObject({
    status: 'problem',
    message: expect.stringContaining('is inconsistent'),
  })
})

test('the doctor judges the limits of the configuration file', async () => {
  const dataDir = await makeDatabase()
  const config = join(dataDir, 'errand.config.ts')
  writeFileSync(config, 'export default { agents: [], limits: { drainSeconds: 77 } }')
  const { report } = await examine(dataDir, '--config', config)
  expect(findingOf(report, 'stopping')).toMatchObject({ message: expect.stringContaining('up to 77 s') })
})

test("the doctor distinguishes this installation's server from others on the port", async () => {
  const dataDir = await makeDatabase()
  const server = await startProcess({ dataDir })
  const { port } = new URL(server.url)
  const own = await examine(dataDir, '--port', port)
  expect(findingOf(own.report, 'port')).toMatchObject({
    status: 'ok',
    message: `the server of ${dataDir} is running on 127.0.0.1:${port}`,
  })
  const other = await examine(newDataDir(), '--port', port)
  expect(other.code).toBe(1)
  expect(findingOf(other.report, 'port')).toMatchObject({
    status: 'problem',
    message: expect.stringContaining(`the server of another data directory is using 127.0.0.1:${port}`),
  })
  await server.end('SIGTERM')
})
