import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { examine, findingOf, makeDatabase } from '../../support/examine.ts'
import { queryRows } from '../../support/test-engine.ts'

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
