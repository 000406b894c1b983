import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../../../e2e/open-browser.ts'
import unpackBrowser from '../../../e2e/unpack-browser.ts'
import { brokenLinks } from '../../../pins/read-links.ts'
import { temporaryFolder } from '../../../support/resources.ts'
import { packClient, packFolder, run } from '../client/client-package.ts'
import { installTools } from '../../install-tools.ts'
import { addressOf, demoOf, install, installedServer, packServer, root, runTask, start } from './server-package.ts'

// Users' steps with the packed package, in folders outside of the checkout.

const setUpMsMax = 600_000
const runMsMax = 300_000
/** Maximum installed size, and target time from nothing to the first billed task. */
const installedMbMax = 120
const firstTaskSeconds = 25
/** Clears a key from the developer's environment. */
const withoutKey = { OPENAI_API_KEY: '' }
let project = ''

beforeAll(async () => {
  project = await installedServer()
}, setUpMsMax)

const sizeMb = (folder: string) =>
  Number(/^\d+/.exec(execFileSync('du', ['-sk', folder], { encoding: 'utf8' }))![0]) / 1000

test('an installation is small and contains no TypeScript sources or development packages', () => {
  const modules = join(project, 'node_modules')
  const size = sizeMb(modules)
  console.log(`installed: ${size.toFixed(1)} MB of ${installedMbMax}`)
  expect(size).toBeLessThanOrEqual(installedMbMax)
  const files = readdirSync(join(modules, 'errand'), { recursive: true, encoding: 'utf8' })
  expect(files.filter((file) => /(?<!\.d)\.tsx?$/.test(file))).toEqual([])
  expect(existsSync(join(modules, 'typescript'))).toBe(false)
  expect(existsSync(join(modules, 'vite'))).toBe(false)
})

test('the pages of the package link only to files in the package', () => {
  const folder = join(project, 'node_modules', 'errand')
  const files = globSync('{*,docs/**/*}.md', { cwd: folder })
  expect(files.length).toBeGreaterThan(20)
  const pages = new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]))
  expect(brokenLinks({ pages, has: (path) => existsSync(join(folder, path)) })).toEqual([])
})

test(
  'npx errand in an empty folder charges a task, stops with npm, and starts again',
  async () => {
    const folder = temporaryFolder('npx')
    const npx = ['--yes', '--prefer-offline', '--package', await packServer(), 'errand']
    const startedAt = performance.now()
    const first = start('npx', [...npx, '--port', '0'], folder)
    const url = await addressOf(first)
    expect(await runTask(folder, url)).toMatchObject({ status: 'completed', costUsd: '0.0200' })
    const seconds = (performance.now() - startedAt) / 1000
    console.log(
      `from an empty folder to the first billed task: ${seconds.toFixed(1)} s of ${firstTaskSeconds} on an idle machine`,
    )
    for (const text of ['Log in as', 'API key', 'curl -s']) expect(first.output()).toContain(text)
    await first.end('SIGTERM')
    expect(first.output()).toContain('"msg":"stopped"')

    const again = start('npx', [...npx, '--port', '0'], folder)
    expect(await runTask(folder, await addressOf(again))).toMatchObject({ status: 'completed' })
    await again.end('SIGTERM')
  },
  setUpMsMax,
)

test(
  'the commands work from the package: users, credit, keys, ledger, backup, openapi, doctor',
  async () => {
    const data = join(project, 'commands')
    const errand = async (...args: string[]) => (await run('npx', ['errand', ...args], project)).stdout
    const of = ['--data', data, '--json']
    await errand('users', 'create', '--email', 'a@example.com', ...of)
    await errand('users', 'credit', '--user', 'a@example.com', '--amount-usd', '5.00', ...of)
    expect(JSON.parse(await errand('keys', 'create', '--user', 'a@example.com', '--name', 'k', ...of))).toHaveProperty(
      'key',
    )
    expect(JSON.parse(await errand('ledger', 'verify', ...of))).toMatchObject({ ok: true, transactions: 1 })
    expect(JSON.parse(await errand('backup', join(project, 'copy.db'), ...of))).toMatchObject({ payloads: null })
    expect(JSON.parse(await errand('openapi'))).toMatchObject({ openapi: '3.1.0' })
    const { checks, ok } = JSON.parse(await errand('doctor', '--port', '0', ...of)) as { checks: object[]; ok: boolean }
    expect([ok, checks.length > 8]).toEqual([true, true])
  },
  runMsMax,
)

test(
  'a TypeScript configuration runs unchanged and type-checks without skipLibCheck',
  async () => {
    writeFileSync(join(project, 'errand.config.ts'), agents)
    writeFileSync(join(project, 'common.cts'), agents)
    const service = start('npx', ['errand', 'serve', '--json', '--port', '0'], project)
    const url = await addressOf(service)
    expect((await fetch(`${url}/docs`)).status).toBe(200)
    await service.end('SIGTERM')

    const tools = await installTools('package')
    const compilers = [join(tools, 'typescript54'), join(tools, 'typescript59'), join(root, 'node_modules/typescript')]
    for (const compiler of compilers) {
      for (const [moduleResolution, module] of [
        ['node16', 'node16'],
        ['nodenext', 'nodenext'],
        ['bundler', 'esnext'],
      ]) {
        const compilerOptions = {
          target: 'es2022',
          module,
          moduleResolution,
          types: [],
          noEmit: true,
          strict: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: false,
        }
        const config = join(project, 'tsconfig.json')
        writeFileSync(config, JSON.stringify({ compilerOptions, files: ['errand.config.ts', 'common.cts'] }))
        await run(process.execPath, [join(compiler, 'bin/tsc'), '-p', config], project)
      }
    }
  },
  runMsMax,
)

const agents = `
import { defineConfig, defineEndpoint } from 'errand'
import type { startTestErrand, TestErrand } from 'errand/testing'
import { z } from 'zod'
const shout = defineEndpoint({
  description: 'Says it louder.',
  priceUsd: '0.0100',
  params: z.object({ text: z.string() }),
  output: z.object({ text: z.string() }),
  run: ({ params }) => ({ text: params.text.toUpperCase() satisfies string }),
})
const config = defineConfig({ agents: [{ kind: 'code', id: 'text', name: 'Text', endpoints: { shout } }] })
export default config
export async function shoutOnce(start: typeof startTestErrand): Promise<string | undefined> {
  const { client } = await start({ config })
  const { response } = await client.tasks.run({ endpointId: 'text.shout', params: { text: 'hi' } })
  // @ts-expect-error The endpoint is misspelt.
  await client.tasks.run({ endpointId: 'text.shouts', params: { text: 'hi' } })
  return typeof response === 'object' ? response?.text : response
}
export const balanceOf = async ({ client }: TestErrand): Promise<string> => (await client.account.get()).balanceUsd
`

test(
  'publint and attw find no problems in the tarballs',
  async () => {
    const tools = await installTools('package')
    const bin = (name: string) => join(tools, '.bin', name)
    for (const tarball of [await packServer(), await packFolder(join(root, 'create-errand'))]) {
      await run(bin('publint'), ['--strict', tarball], tools)
      await run(bin('attw'), [tarball], tools)
    }
  },
  runMsMax,
)

test(
  'npm create errand writes a project that passes its test and serves',
  async () => {
    const parent = temporaryFolder('create')
    const tarballs = [await packServer(), await packClient(), await packFolder(join(root, 'create-errand'))]
    const packages = tarballs.flatMap((tarball) => ['--package', tarball])
    const create = () =>
      run('npx', ['--yes', '--prefer-offline', ...packages, 'create-errand', 'my-agents'], parent, {}, setUpMsMax)
    await create()
    await expect(create()).rejects.toThrow('already exists, so nothing was written')
    const folder = join(parent, 'my-agents')
    await install(folder)
    expect((await run('npm', ['test'], folder)).stdout).toMatch(/pass 1\b/)
    const service = start('npm', ['start', '--', '--json', '--port', '0'], folder, withoutKey)
    const url = await addressOf(service)
    const { stdout } = await run('npm', ['run', 'client'], folder, { ERRAND_URL: url })
    expect(stdout).toMatch(/completed \{[^}]*This is a stub[^}]*\} for 0\.0100 USD\n24\.9900 USD are left/)
    await service.end('SIGTERM')
    expect(service.output()).toContain('"msg":"stopped"')
    expect(readFileSync(join(folder, '.gitignore'), 'utf8')).toContain('.errand/')
    await expect(run('npm', ['start'], folder, { ...withoutKey, NODE_ENV: 'production' })).rejects.toThrow(
      'is required in production',
    )
  },
  setUpMsMax,
)

test('a project created by errand init requires the same Errand version', async () => {
  const folder = join(temporaryFolder('init'), 'my-agents')
  await run(join(project, 'node_modules/.bin/errand'), ['init', folder], project)
  const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  expect(dependencies).toMatchObject({ errand: `file:errand-${version}.tgz`, 'errand-client': `^${version}` })
})

test(
  'errand/testing works under vitest and in CommonJS',
  async () => {
    const folder = join(project, 'testing')
    mkdirSync(folder)
    writeFileSync(join(folder, 'agents.test.ts'), vitestFile)
    await run(
      process.execPath,
      [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--globals', '--root', folder],
      folder,
    )
    const script = "require('errand/testing').startTestErrand({ config: { agents: [] } }).then(({ close }) => close())"
    await run(process.execPath, ['--eval', script], folder)
  },
  runMsMax,
)

const vitestFile = `
import { startTestErrand } from 'errand/testing'
import config from '../errand.config.ts'

test('a task is charged', async () => {
  const { client, close } = await startTestErrand({ config, balanceUsd: '5' })
  const task = await client.tasks.run({ endpointId: 'text.shout', params: { text: 'hi' } })
  expect([task.status, task.response]).toEqual(['completed', { text: 'HI' }])
  expect((await client.account.get()).balanceUsd).toBe('4.9900')
  await close()
})
`

test(
  'every file of the console loads from the package',
  async () => {
    unpackBrowser()
    const folder = join(project, 'console')
    mkdirSync(folder)
    const service = start('npx', ['errand', '--json', '--port', '0'], folder)
    const url = await addressOf(service)
    const context = await (await openBrowser()).newContext()
    const page = await context.newPage()
    const wrong: string[] = []
    page.on(
      'response',
      (response) => void (response.status() >= 400 && wrong.push(`${response.status()} ${response.url()}`)),
    )
    page.on('pageerror', (error) => void wrong.push(error.message))
    const { email, password } = await demoOf(folder)
    await page.goto(`${url}/login`)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByRole('button', { name: 'Log in' }).click()
    for (const path of ['/agents', '/tasks', '/billing', '/settings/keys', '/admin/system']) {
      await page.goto(url + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
    }
    await page.goto(`${url}/docs`)
    await page.getByText('/api/tasks').first().waitFor()
    // Before the login, the page asks for the current user.
    expect(wrong.filter((line) => !line.startsWith('401 '))).toEqual([])
    await context.close()
    await service.end('SIGTERM')
  },
  runMsMax,
)

test(
  'prints the start times from the package and from source for comparison',
  async () => {
    const mains = [join(project, 'node_modules/errand/server/errand.cjs'), join(root, 'server/main.ts')]
    const times = mains.map((): number[] => [])
    // Alternates between both, so that other load affects them equally.
    for (let round = 0; round < 5; round++) {
      for (const [n, main] of mains.entries()) {
        const startedAt = performance.now()
        const service = start(process.execPath, [main, 'demo', '--json', '--port', '0'], join(project, 'console'))
        await addressOf(service)
        times[n]!.push(performance.now() - startedAt)
        await service.end('SIGTERM')
      }
    }
    const [built = 0, source = 0] = times.map((own) => own.toSorted((x, y) => x - y)[2])
    console.log(`start, median of 5: ${built.toFixed(0)} ms from the package, ${source.toFixed(0)} ms from source`)
    expect(built).toBeGreaterThan(0)
  },
  runMsMax,
)
