import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../support/resources.ts'
import { run } from '../client/client-package.ts'
import { addressOf, install, root, runTask, start } from './server-package.ts'

// Scripts of a clone. Signals to npm must reach the service, and scripts must judge installed and built files by
// content, not by time.

const runMsMax = 300_000
const installedMbMax = 150

/** Copies the checkout, with new file times. */
function copyCheckout(): string {
  const folder = temporaryFolder('clone')
  const left = new Set(['.errand', '.git', '.setup-node', 'coverage', 'dist', 'node_modules'])
  for (const name of readdirSync(root)) {
    if (!left.has(name)) cpSync(join(root, name), join(folder, name), { recursive: true })
  }
  return folder
}

/** Links installed packages, and copies npm's record of them. */
function linkPackages(folder: string): void {
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(join(root, 'node_modules')))
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
}

test(
  'SIGTERM to npm start and npm run errand drains the service and stops it',
  async () => {
    const folder = copyCheckout()
    linkPackages(folder)
    for (const script of [
      ['start', '--'],
      ['run', '--silent', 'errand', '--', 'demo'],
    ]) {
      const service = start('npm', [...script, '--port', '0'], folder)
      expect(await runTask(folder, await addressOf(service))).toMatchObject({ status: 'completed' })
      expect(service.output()).not.toContain('Installing packages')
      await service.end('SIGTERM')
      expect(service.output()).toContain('"msg":"stopped"')
    }
  },
  runMsMax,
)

test(
  'a command with --silent prints its JSON and nothing else',
  async () => {
    const folder = copyCheckout()
    linkPackages(folder)
    const { stdout } = await run(
      'npm',
      ['run', '--silent', 'errand', '--', 'users', 'list', '--data', 'none', '--json'],
      folder,
    ).catch(() => ({ stdout: '' }))
    expect(stdout).toBe('')
    const args = ['users', 'create', '--email', 'a@example.com', '--json']
    const created = await run('npm', ['run', '--silent', 'errand', '--', ...args], folder)
    expect(JSON.parse(created.stdout)).toHaveProperty('email')
  },
  runMsMax,
)

test(
  'a read-only copy is served without installing or building anything',
  async () => {
    const folder = copyCheckout()
    linkPackages(folder)
    const data = temporaryFolder('clone-data')
    const closed = [folder, join(folder, 'node_modules'), join(folder, 'console'), join(folder, 'console/dist')]
    for (const path of closed) chmodSync(path, 0o555)
    const service = start('npm', ['start', '--', '--port', '0', '--data', data], folder)
    const url = await addressOf(service)
    expect((await fetch(url)).headers.get('content-type')).toContain('text/html')
    for (const said of ['Installing', 'Building']) expect(service.output()).not.toContain(said)
    await service.end('SIGTERM')
    for (const path of closed) chmodSync(path, 0o755)
  },
  runMsMax,
)

test(
  "npm start installs the server's packages, builds the console and removes the build tools",
  async () => {
    const folder = copyCheckout()
    rmSync(join(folder, 'console/dist'), { recursive: true })
    const setUp = await run('npm', ['run', 'prestart'], folder, { npm_config_prefer_offline: 'true' })
    expect(setUp.stderr).toContain("Installing the server's packages")
    const { stdout } = await run('du', ['-sk', 'node_modules'], folder)
    const size = parseInt(stdout) / 1000
    console.log(`installed: ${size.toFixed(1)} MB of ${installedMbMax}`)
    expect(size).toBeLessThanOrEqual(installedMbMax)
    for (const left of ['node_modules/vite', 'node_modules/typescript', '.setup-console']) {
      expect(existsSync(join(folder, left)), left).toBe(false)
    }
    const service = start('npm', ['start', '--', '--port', '0'], folder)
    const url = await addressOf(service)
    expect((await fetch(url)).headers.get('content-type')).toContain('text/html')
    for (const said of ['Installing', 'Building']) expect(service.output()).not.toContain(said)
    await service.end('SIGTERM')
  },
  runMsMax,
)

test(
  'the service runs without a console if console packages cannot be installed, and reports the reason',
  async () => {
    const folder = copyCheckout()
    rmSync(join(folder, 'console/dist'), { recursive: true })
    await run('npm', ['ci', '--omit=dev', '--prefer-offline', '--no-audit', '--no-fund'], folder)
    const offline = { npm_config_offline: 'true', npm_config_cache: temporaryFolder('empty-cache') }
    const service = start('npm', ['start', '--', '--port', '0'], folder, offline)
    const url = await addressOf(service)
    expect(await runTask(folder, url)).toMatchObject({ status: 'completed' })
    expect(service.output()).toContain(
      'The web console is not served, because its build packages could not be installed. Check the network and try again.',
    )
    expect((await fetch(url)).status).toBe(503)
    await service.end('SIGTERM')
  },
  runMsMax,
)

test(
  'errand init from a clone packs Errand, so the project does not need it from a registry',
  async () => {
    const clone = copyCheckout()
    linkPackages(clone)
    const folder = join(temporaryFolder('init'), 'my-agents')
    await run('npm', ['run', '--silent', 'errand', '--', 'init', folder], clone)
    await install(folder)
    const record = readFileSync(join(folder, 'package-lock.json'), 'utf8')
    for (const name of ['errand', 'errand-client']) expect(record).toMatch(new RegExp(`"file:${name}-[\\d.]+\\.tgz"`))
    expect((await run('npm', ['test'], folder)).stdout).toMatch(/pass 1\b/)
  },
  runMsMax,
)

test('installing from git fails with one line that says what to install instead', async () => {
  const folder = temporaryFolder('git-dependency')
  const source = join(folder, 'node_modules/errand')
  for (const name of ['server/errand.cjs', 'server/main.ts', 'package.json']) {
    cpSync(join(root, name), join(source, name), { recursive: true })
  }
  await expect(run(process.execPath, [join(source, 'server/errand.cjs'), 'serve'], folder)).rejects.toThrow(
    'errand: this is the source of Errand, which does not run below node_modules; install the package: npm install errand\n',
  )
})
