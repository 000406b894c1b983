import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runErrand, startProcess } from '../../../support/test-process.ts'
import { newDataDir } from '../../../support/test-service.ts'
import { until, waitMsMax } from '../../../support/until.ts'

// A failed start reports cause and remedy in one line. A start with reduced function logs them.

const another = 65_534
const isRoot = process.getuid?.() === 0
/** Makes root subject to file modes and owners. */
const asAnybody = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []
const failureOf = (options: Parameters<typeof startProcess>[0]) =>
  startProcess(options).then(
    async (server) => `it started; exit ${await server.end('SIGTERM')}`,
    (error: Error) => error.message,
  )

test('rejects an unwritable data directory, naming its owner or the permissions', async () => {
  const dataDir = newDataDir()
  const mine = join(dataDir, 'mine')
  mkdirSync(mine)
  chmodSync(mine, 0o555)
  if (isRoot) chownSync(mine, another, another)
  const why = isRoot
    ? `it belongs to the user ${another}, but this process runs as the user 0`
    : 'its permissions do not allow that'
  expect(await failureOf({ dataDir: mine, under: asAnybody })).toContain(
    `Cannot read and write ${mine}, because ${why}. Fix`,
  )
  rmSync(dataDir, { recursive: true })
})

test('names an occupied port and how to choose another', async () => {
  const dataDir = newDataDir()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const failure = await failureOf({ dataDir, args: ['--port', String(port)] })
  expect(failure).toContain(`errand: The port ${port} is in use. Choose another port with --port or ERRAND_PORT.`)
  other.close()
  rmSync(dataDir, { recursive: true })
})

test('runs a configuration with type errors; rejects a configuration that throws or exports nothing', async () => {
  const dataDir = newDataDir()
  const config = (name: string, text: string) => {
    const file = join(dataDir, name)
    writeFileSync(file, text)
    return file
  }
  const wrong = config(
    'wrong.config.ts',
    'const count: number = "two"\nexport default { agents: [], count } && { agents: [] }',
  )
  expect(await failureOf({ dataDir, config: wrong })).toBe('it started; exit 0')
  const throws = config('throws.config.ts', 'throw new Error("no model is set")')
  expect(await failureOf({ dataDir, config: throws })).toContain(
    `Could not load ${throws}. Fix this error and try again: no model is set`,
  )
  const empty = config('empty.config.ts', 'export const agents = []')
  expect(await failureOf({ dataDir, config: empty })).toContain(
    `${empty} does not export a configuration. Add export default defineConfig({ agents: [] }).`,
  )
  rmSync(dataDir, { recursive: true })
})

test("refuses to start without the database's secret until the secret is restored or abandoned", async () => {
  const dataDir = newDataDir()
  expect(await failureOf({ dataDir, env: { ERRAND_SECRET: 'the secret of this database' } })).toBe('it started; exit 0')
  for (const env of [{}, { ERRAND_SECRET: 'the secret of another one' }]) {
    expect(await failureOf({ dataDir, env })).toContain('The secret does not match this database')
    await expect(runErrand(['secret', 'rotate', '--data', dataDir], env)).rejects.toThrow('The secret does not match')
  }
  expect(await failureOf({ dataDir, env: { ERRAND_SECRET: 'the secret of this database' } })).toBe('it started; exit 0')
  await runErrand(['secret', 'rotate', '--lost', '--data', dataDir])
  expect(await failureOf({ dataDir })).toBe('it started; exit 0')
  rmSync(dataDir, { recursive: true })
})

test('warns about a low limit of open files', async () => {
  const dataDir = newDataDir()
  const server = await startProcess({ dataDir, under: ['sh', '-c', 'ulimit -n 1024 && exec "$@"', 'sh'] })
  await until('the log has it', waitMsMax, () =>
    server.log().includes('this process can open only 1024 files at a time, too few'),
  )
  expect(await server.end('SIGTERM')).toBe(0)
  rmSync(dataDir, { recursive: true })
})

test('a service ends when its npx shell is killed', async () => {
  const dataDir = newDataDir()
  let shell: ChildProcess | undefined
  const server = await startProcess({
    dataDir,
    env: { npm_lifecycle_event: 'npx' },
    // The shell keeps running as the parent, because another command follows.
    under: ['sh', '-c', '"$@"; true', 'sh'],
    onSpawn: (child) => (shell = child),
  })
  shell!.kill('SIGKILL')
  await until('it stops', waitMsMax, () => server.log().includes('"msg":"stopped"'))
  await expect(fetch(server.url)).rejects.toThrow()
  rmSync(dataDir, { recursive: true })
})

test('an outdated Node is reported before anything is loaded', async () => {
  const entry = new URL('../../../../server/errand.cjs', import.meta.url)
  // The entry point checks only this value, so a fake value simulates an old Node.
  const script = `Object.defineProperty(process.versions, 'node', { value: '16.20.2' }); require(${JSON.stringify(entry.pathname)})`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number]
  expect([code, said]).toEqual([
    1,
    'errand: Node 22.18 or newer is needed, and this is 16.20.2; install one from https://nodejs.org.\n',
  ])
})
