import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const scripts = join(dirname(fileURLToPath(import.meta.url)), '../../../scripts')

/** Simulates a slow npm install: removes old packages first, and writes the completion marker last. */
const slowNpm = `
  import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
  appendFileSync('npm.log', 'begin\\n')
  rmSync('node_modules', { recursive: true, force: true })
  mkdirSync('node_modules')
  await new Promise((resolve) => setTimeout(resolve, 500))
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'))
  const isLeftOut = ({ dev }) => dev && process.argv.includes('--omit=dev')
  const installed = Object.entries(packages).filter(([, of]) => !isLeftOut(of))
  writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(installed) }))
  appendFileSync('npm.log', 'end\\n')
`
const packages = {
  '': { version: '0.1.0' },
  'node_modules/served': { version: '1.0.0' },
  'node_modules/tested': { version: '1.0.0', dev: true },
  'node_modules/checked': { version: '1.0.0', dev: true },
}

let checkout: string

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'errand-setup-'))
  mkdirSync(join(checkout, 'scripts'))
  for (const name of ['setup.mjs', 'run-command.mjs']) cpSync(join(scripts, name), join(checkout, 'scripts', name))
  writeFileSync(join(checkout, 'scripts/build-console.mjs'), 'export const buildConsole = () => {}')
  lockPackages(packages)
  writeFileSync(join(checkout, 'npm.mjs'), slowNpm)
})
afterEach(() => rmSync(checkout, { recursive: true, force: true }))

function startSetup(...args: string[]): ChildProcess {
  const env = { ...process.env, npm_execpath: join(checkout, 'npm.mjs'), npm_node_execpath: process.execPath }
  return spawn(process.execPath, [join(checkout, 'scripts/setup.mjs'), ...args], {
    env,
    stdio: 'ignore',
    detached: true,
  })
}

async function runSetup(...args: string[]): Promise<number | null> {
  const [code] = (await once(startSetup(...args), 'exit')) as [number | null]
  return code
}

const lockPackages = (locked: object) =>
  writeFileSync(join(checkout, 'package-lock.json'), JSON.stringify({ packages: locked }))
const installed = () => {
  const note = JSON.parse(readFileSync(join(checkout, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: object
  }
  return Object.keys(note.packages).filter((path) => path !== '')
}
const installs = () => readFileSync(join(checkout, 'npm.log'), 'utf8')
const lock = () => join(checkout, '.setup-lock')

test('one of several simultaneous setups installs, and the others continue afterwards', async () => {
  expect(await Promise.all([runSetup(), runSetup(), runSetup(), runSetup()])).toEqual([0, 0, 0, 0])
  expect(installs()).toBe('begin\nend\n')
  expect(existsSync(lock())).toBe(false)
})

test('takes over the lock of a killed setup', async () => {
  const killed = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
  await new Promise((resolve) => killed.on('exit', resolve))
  writeFileSync(lock(), String(killed.pid))
  expect(await runSetup()).toBe(0)
  expect(installs()).toBe('begin\nend\n')
  expect(existsSync(lock())).toBe(false)
})

test('a failed setup leaves no lock behind', async () => {
  writeFileSync(join(checkout, 'npm.mjs'), 'process.exit(1)')
  expect(await runSetup()).toBe(1)
  expect(existsSync(lock())).toBe(false)
})

test('installs development packages only if needed, once, and then keeps them', async () => {
  const [served, ...others] = Object.keys(packages).filter((path) => path !== '')
  expect(await runSetup('--server')).toBe(0)
  expect(await runSetup('--server')).toBe(0)
  expect([installs(), installed()]).toEqual(['begin\nend\n', [served]])

  expect(await runSetup()).toBe(0)
  expect(await runSetup()).toBe(0)
  expect(await runSetup('--server')).toBe(0)
  expect([installs(), installed()]).toEqual(['begin\nend\n'.repeat(2), [served, ...others]])

  lockPackages({ ...packages, 'node_modules/served': { version: '1.0.1' } })
  expect(await runSetup('--server')).toBe(0)
  expect([installs(), installed()]).toEqual(['begin\nend\n'.repeat(3), [served, ...others]])
})

test.each([[['--server']], [[]]])('the next setup repairs a killed installation', async (args) => {
  expect(await runSetup('--server')).toBe(0)
  rmSync(join(checkout, 'npm.log'))
  lockPackages({ ...packages, 'node_modules/served': { version: '1.0.1' } })
  const killed = startSetup(...args)
  await expect.poll(installs, { interval: 10 }).toBe('begin\n')
  process.kill(-killed.pid!, 'SIGKILL')
  await once(killed, 'exit')
  expect(await runSetup(...args)).toBe(0)
  expect(installs()).toBe('begin\nbegin\nend\n')
  expect(installed()).toContain('node_modules/served')
})

test('a copied checkout counts as installed, with or without development packages', async () => {
  const note = join(checkout, 'node_modules/.package-lock.json')
  const installAs = (found: object) => {
    mkdirSync(dirname(note), { recursive: true })
    writeFileSync(note, JSON.stringify({ packages: found }))
    utimesSync(note, 0, 0)
  }
  installAs(packages)
  expect(await runSetup()).toBe(0)
  const { 'node_modules/served': served, 'node_modules/tested': tested } = packages
  installAs({ 'node_modules/served': served })
  expect(await runSetup('--server')).toBe(0)
  expect(existsSync(join(checkout, 'npm.log'))).toBe(false)

  for (const found of [{ 'node_modules/served': { version: '0.9.0' } }, { served, 'node_modules/tested': tested }]) {
    rmSync(join(checkout, 'npm.log'), { force: true })
    installAs(found)
    expect(await runSetup()).toBe(0)
    expect(installs()).toBe('begin\nend\n')
  }
})
