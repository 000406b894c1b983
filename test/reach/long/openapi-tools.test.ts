import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'vite'
import { afterAll, beforeAll, expect, test } from 'vitest'
import quickstart from '../../../examples/quickstart/errand.config.ts'
import { openResources, temporaryFolder } from '../../support/resources.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { cleanEnvironment } from '../clean-environment.ts'
import { installTools } from '../install-tools.ts'

// Checks the OpenAPI document with its users' tools: generated clients must compile under strict TypeScript and call
// the service. The tools are not dependencies of this repository.

const tools = fileURLToPath(new URL('../tools/openapi/', import.meta.url))
const commandMsMax = 240_000

const generators: Record<string, [script: string, ...args: string[]]> = {
  'openapi-fetch': ['openapi-typescript/bin/cli.js', 'openapi.json', '-o', 'openapi-fetch/api.ts'],
  'hey-api': ['@hey-api/openapi-ts/bin/run.js', '-i', 'openapi.json', '-o', 'hey-api', '--silent'],
  orval: ['orval/dist/bin/orval.mjs'],
  kubb: ['@kubb/cli/bin/kubb.cjs', 'generate'],
}

let service: TestService
let folder: string

beforeAll(async () => {
  const modules = await installTools('openapi')
  service = await startService({ config: quickstart })
  // The leak check runs after every test, but this service outlives them and is stopped below.
  openResources.delete(`service on ${service.url}`)
  folder = temporaryFolder('languages')
  cpSync(tools, folder, { recursive: true })
  symlinkSync(modules, join(folder, 'node_modules'))
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${service.url}/openapi.json`)).text())
}, 1_000_000)

afterAll(() => service.stop())

/** Runs a script in the folder and resolves with its output; rejects with that on failure. */
async function run(script: string, args: readonly string[] = [], env: Record<string, string> = {}): Promise<string> {
  const options = {
    cwd: folder,
    env: { ...cleanEnvironment(), ERRAND_URL: service.url, NO_COLOR: '1', ...env },
    timeout: commandMsMax,
    killSignal: 'SIGKILL',
  } as const
  try {
    return (await promisify(execFile)(process.execPath, [script, ...args], options)).stdout
  } catch (error) {
    const { stderr = '', stdout = '' } = error as { stderr?: string; stdout?: string }
    throw new Error(`${script} failed:\n${stdout}${stderr}`, { cause: error })
  }
}

test('Spectral finds no problems, and finds what is missing in a broken copy', { timeout: commandMsMax }, async () => {
  expect(await run('lint-by-spectral.mjs', ['openapi.json'])).toBe('')
  const broken = JSON.parse(readFileSync(join(folder, 'openapi.json'), 'utf8'))
  delete broken.paths['/api/tasks'].get.operationId
  broken.paths['/api/chat'].post.tags = ['Nowhere']
  writeFileSync(join(folder, 'broken.json'), JSON.stringify(broken))
  const found = await run('lint-by-spectral.mjs', ['broken.json'])
  expect(found).toMatch(/^operation-operationId at paths\.\/api\/tasks\.get/m)
  expect(found).toMatch(/^operation-tag-defined at paths\.\/api\/chat\.post/m)
})

test('generated clients compile under --strict', { timeout: 4 * commandMsMax }, async () => {
  for (const [script, ...args] of Object.values(generators)) await run(join('node_modules', script), args)
  expect(await run('node_modules/typescript/bin/tsc', ['-p', '.'])).toBe('')
})

test.each(Object.keys(generators))(
  'ten calls by %s succeed, including a chat stream',
  { timeout: commandMsMax },
  async (name) => {
    const { key } = await service.createPerson()
    const entry = join(folder, `call-by-${name}.ts`)
    const outDir = join(folder, 'bundled', name)
    await build({
      configFile: false,
      envFile: false,
      root: folder,
      logLevel: 'error',
      ssr: { noExternal: true },
      build: { ssr: entry, outDir, target: 'node22' },
    })
    expect(await run(join(outDir, `call-by-${name}.js`), [], { ERRAND_API_KEY: key })).toBe('ten calls succeeded\n')
  },
)
