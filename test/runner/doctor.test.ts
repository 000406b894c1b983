import { expect, test } from 'vitest'
import { examine, findingOf, makeDatabase } from '../support/examine.ts'
import { queryRows } from '../support/test-engine.ts'

test('the doctor finds a ledger that does not add up', async () => {
  const dataDir = await makeDatabase()
  await queryRows(dataDir, 'UPDATE accounts SET balance = balance + 1')
  const { code, report } = await examine(dataDir)
  expect([code, report.ok]).toEqual([1, false])
  expect(findingOf(report, 'database')).toMatchObject({ status: 'ok' })
  expect(findingOf(report, 'ledger')).toMatchObject({
    status: 'problem',
    message: expect.stringContaining('does not add up'),
  })
})
