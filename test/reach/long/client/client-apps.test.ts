import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startService } from '../../../support/test-service.ts'
import { installedProject, run } from './client-package.ts'
import { journeyProgram, journeyResult, journeySettings } from './journey.ts'

// Apps in empty folders outside of the checkout, with the package and usual dependencies, against a running service.

const runMsMax = 180_000
const tsc = join(import.meta.dirname, '../../../../node_modules/typescript/bin/tsc')

test(
  'npx errand-client types writes types with which a strict app compiles and runs',
  { timeout: runMsMax },
  async () => {
    const service = await startService()
    const { key } = await service.createPerson()
    const project = await installedProject({}, { type: 'module' })
    const environment = { ERRAND_API_KEY: key, BASE_URL: service.url }
    const command = ['--no-install', 'errand-client', 'types', service.url]
    const { stdout: types } = await run('npx', command, project, environment)
    expect(types).toContain(`declare module 'errand-client'`)
    writeFileSync(join(project, 'errand.d.ts'), types)
    writeFileSync(
      join(project, 'app.ts'),
      `import { createClient } from 'errand-client'
declare const process: { env: Record<string, string> }
const errand = createClient({ baseUrl: process.env['BASE_URL']!, apiKey: process.env['ERRAND_API_KEY']! })
const task = await errand.tasks.run({ endpointId: 'test.typed', params: { text: 'typed', count: 2 } })
// @ts-expect-error The count is not a number.
const wrong = () => errand.tasks.run({ endpointId: 'test.typed', params: { text: 'typed', count: 'two' } })
// @ts-expect-error The text is missing.
const missing = () => errand.tasks.create({ endpointId: 'test.typed', params: {} })
console.log(JSON.stringify([task.status, typeof wrong, typeof missing]))
`,
    )
    const config = {
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      module: 'nodenext',
      target: 'es2022',
      types: [],
    }
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: config, include: ['*.ts'] }))
    await run(process.execPath, [tsc, '-p', '.'], project)
    const { stdout } = await run(process.execPath, ['app.js'], project, environment)
    expect(JSON.parse(stdout)).toEqual(['completed', 'function', 'function'])

    const refused = await run('npx', command, project, { ERRAND_API_KEY: 'wrong' }).catch(
      (error: Error) => error.message,
    )
    expect(refused).toContain('errand-client: The API key is invalid or revoked.')
    const without = await run('npx', command, project, { ERRAND_API_KEY: '' }).catch((error: Error) => error.message)
    expect(without).toContain('ERRAND_API_KEY is not set')
    await service.stop()
  },
)

test('the client works in a CommonJS script of a project without a module type', { timeout: runMsMax }, async () => {
  const service = await startService()
  const project = await installedProject({ 'script.js': journeyProgram('cjs') })
  const settings = await journeySettings(service)
  const { stdout } = await run(process.execPath, ['script.js'], project, { JOURNEY: JSON.stringify(settings) })
  expect(JSON.parse(stdout)).toEqual(journeyResult)
  await service.stop()
})

test(
  'two copies of the client in one program work, and isErrandError knows both errors',
  { timeout: runMsMax },
  async () => {
    const service = await startService()
    const { key } = await service.createPerson()
    const project = await installedProject()
    const text = `
const { createClient, ErrandClientError, isErrandError } = require('errand-client')
import('errand-client').then(async (other) => {
  const options = { baseUrl: process.env.BASE_URL, apiKey: process.env.ERRAND_API_KEY }
  const one = await createClient(options).agents.get({ agentId: 'none' }).catch((error) => error)
  const two = await other.createClient(options).agents.get({ agentId: 'none' }).catch((error) => error)
  const seen = [one, two].map((error) => [isErrandError(error), other.isErrandError(error), error instanceof ErrandClientError, error.code])
  console.log(JSON.stringify([seen, isErrandError(new Error('x')), isErrandError(null), isErrandError('x')]))
})
`
    writeFileSync(join(project, 'two.js'), text)
    const { stdout } = await run(process.execPath, ['two.js'], project, { BASE_URL: service.url, ERRAND_API_KEY: key })
    expect(JSON.parse(stdout)).toEqual([
      [
        [true, true, true, 'NOT_FOUND'],
        [true, true, false, 'NOT_FOUND'],
      ],
      false,
      false,
      false,
    ])
    await service.stop()
  },
)
