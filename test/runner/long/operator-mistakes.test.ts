import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { unknownVariables } from '../../../server/app/unknown-variables.ts'
import { queryRows } from '../../support/test-engine.ts'
import { runErrand } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'

test('sets a plan missing from the configuration only with --force', async () => {
  const dataDir = newDataDir()
  const config = join(dataDir, 'errand.config.ts')
  writeFileSync(config, "export default { agents: [], plans: { free: {}, paid: {} }, defaultPlan: 'free' }")
  await runErrand(['users', 'create', '--email', 'ann@example.com', '--data', dataDir])
  const of = ['--user', 'ann@example.com', '--data', dataDir]
  const plan = (name: string, ...more: string[]) =>
    runErrand(['users', 'plan', ...of, '--plan', name, '--config', config, '--json', ...more])
  await expect(plan('padi')).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/"message":"--plan: .* does not have the plan \\"padi\\". Its plans: free, paid\./),
  })
  expect(await queryRows(dataDir, 'SELECT plan FROM accounts')).toEqual([{ plan: null }])
  expect(JSON.parse(await plan('paid'))).toMatchObject({ plan: 'paid' })
  expect(JSON.parse(await plan('padi', '--force'))).toMatchObject({ plan: 'padi' })
  expect(JSON.parse(await plan('none', '--tasks-at-work', '3'))).toMatchObject({
    plan: null,
    limits: { tasksAtWork: 3 },
  })
  const removed = await runErrand(['users', 'plan', ...of, '--tasks-at-work', 'none', '--json'])
  expect(JSON.parse(removed)).toMatchObject({ plan: null, limits: {} })
})

test('reports unknown ERRAND_ variables with the nearest setting', async () => {
  expect(unknownVariables({ ERRAND_PROT: '1', ERRAND_PORT: '2', ERRAND_MAX_CONECTIONS: '3', PORT: '4' })).toEqual([
    { name: 'ERRAND_PROT', nearest: 'ERRAND_PORT' },
    { name: 'ERRAND_MAX_CONECTIONS', nearest: 'ERRAND_MAX_CONNECTIONS' },
  ])
  const args = ['doctor', '--data', newDataDir(), '--port', '0', '--json']
  const { checks } = JSON.parse(await runErrand(args, { ERRAND_DATA_DRI: '/x' })) as { checks: object[] }
  const message: unknown = expect.stringContaining(
    'ERRAND_DATA_DRI is not an Errand setting. Did you mean ERRAND_DATA_DIR?',
  )
  expect(checks).toContainEqual({ name: 'variables', status: 'warning', message })
})
