import { spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'

const setup = join(dirname(fileURLToPath(import.meta.url)), '../../scripts/setup.mjs')

/** Simulates a slow npm install: removes old packages first, and writes the completion marker last. */
const slowNpm = `
  import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
  appendFileSync('npm.log', 'begin\\n')
  rmSync('node_modules', { recursive: true, force: true })
  mkdirSync('node_modules')
  await new Promise((resolve) => setTimeout(resolve, 500))
  writeFileSync('node_modules/.package-lock.json', '{}')
  appendFileSync('npm.log', 'end\\n')
`

let checkout: string

beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'errand-setup-'))
  mkdirSync(join(checkout, 'scripts'))
  cpSync(setup, join(checkout, 'scripts/setup.mjs'))
  writeFileSync(join(checkout, 'scripts/build-console.mjs'), 'export const buildConsole = () => {}')
  writeFileSync(join(checkout, 'package-lock.json'), '{}')
  writeFileSync(join(checkout, 'npm.mjs'), slowNpm)
})
afterEach(() => rmSync(checkout, { recursive: true, force: true }))

async function runSetup(): Promise<number | null> {
  const env = { ...process.env, npm_execpath: join(checkout, 'npm.mjs'), npm_node_execpath: process.execPath }
  const child = spawn(process.execPath, [join(checkout, 'scripts/setup.mjs')], { env, stdio: 'ignore' })
  return await new Promise((resolve) => child.on('exit', resolve))
}

const installs = () => readFileSync(join(checkout, 'npm.log'), 'utf8')
const lock = () => join(checkout, '.setup-lock')

test('of set-ups that start together one installs, and the others go on when it has', async () => {
  expect(await Promise.all([runSetup(), runSetup(), runSetup(), runSetup()])).toEqual([0, 0, 0, 0])
  expect(installs()).toBe('begin\nend\n')
  expect(existsSync(lock())).toBe(false)
})

test('the lock of a set-up that was killed is taken over', async () => {
  const killed = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
  await new Promise((resolve) => killed.on('exit', resolve))
  writeFileSync(lock(), String(killed.pid))
  expect(await runSetup()).toBe(0)
  expect(installs()).toBe('begin\nend\n')
  expect(existsSync(lock())).toBe(false)
})

test('a set-up that fails leaves no lock behind', async () => {
  writeFileSync(join(checkout, 'npm.mjs'), 'process.exit(1)')
  expect(await runSetup()).toBe(1)
  expect(existsSync(lock())).toBe(false)
})

test('a copy is as installed as what it was copied from, with the packages for development or without', async () => {
  const packages = {
    '': { version: '0.1.0' },
    'node_modules/served': { version: '1.0.0' },
    'node_modules/tested': { version: '1.0.0', dev: true },
    'node_modules/checked': { version: '1.0.0', dev: true },
  }
  const note = join(checkout, 'node_modules/.package-lock.json')
  const installAs = (found: object) => {
    mkdirSync(dirname(note), { recursive: true })
    writeFileSync(note, JSON.stringify({ packages: found }))
    utimesSync(note, 0, 0)
  }
  writeFileSync(join(checkout, 'package-lock.json'), JSON.stringify({ packages }))
  installAs(packages)
  expect(await runSetup()).toBe(0)
  const { 'node_modules/served': served, 'node_modules/tested': tested } = packages
  installAs({ 'node_modules/served': served })
  expect(await runSetup()).toBe(0)
  expect(existsSync(join(checkout, 'npm.log'))).toBe(false)

  for (const found of [{ 'node_modules/served': { version: '0.9.0' } }, { served, 'node_modules/tested': tested }]) {
    rmSync(join(checkout, 'npm.log'), { force: true })
    installAs(found)
    expect(await runSetup()).toBe(0)
    expect(installs()).toBe('begin\nend\n')
  }
})
