import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { limits } from '../../../../server/kernel/settings.ts'
import { freePort } from '../../../support/free-port.ts'
import { temporaryFolder } from '../../../support/resources.ts'
import { missingCommand, testNeeding } from '../../../support/test-needing.ts'
import { runErrand } from '../../../support/test-process.ts'
import { until } from '../../../support/until.ts'
import { run } from '../client/client-package.ts'
import { installTools } from '../../install-tools.ts'
import { installedServer, root, start } from './server-package.ts'

// The image, the compose files and the systemd unit. No image is built: the Dockerfile is checked, and its last
// stage is replayed in a folder.

const runMsMax = 600_000
const read = (name: string) => readFileSync(join(root, name), 'utf8')
const files = ['Dockerfile', 'examples/starter/Dockerfile']

test(
  'the Dockerfiles are well-formed',
  async () => {
    const tools = await installTools('package')
    const script = `
    const { validate } = require('dockerfile-utils')
    const problems = process.argv.slice(1).flatMap((file) => validate(require('fs').readFileSync(file, 'utf8')))
    console.log(JSON.stringify(problems.map(({ message }) => message)))`
    const { stdout } = await run(process.execPath, ['-e', script, ...files.map((file) => join(root, file))], tools)
    expect(JSON.parse(stdout)).toEqual([])
  },
  runMsMax,
)

/** Returns the settings in a Dockerfile's last stage. */
function lastStage(file: string) {
  const stage = read(file)
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split(/^FROM /m)
    .at(-1)!
  const of = (word: string) => [...stage.matchAll(new RegExp(`^${word} (.*)$`, 'gm'))].map(([, text = '']) => text)
  const env = Object.fromEntries(
    of('ENV').flatMap((line) =>
      line
        .trim()
        .split(/\s+/)
        .map((pair) => pair.split('=')),
    ),
  )
  const [command = ''] = of('CMD')
  const [, check = ''] = /CMD (\[.*\])/.exec(of('HEALTHCHECK')[0] ?? '') ?? []
  return {
    env,
    user: of('USER')[0],
    command: JSON.parse(command) as string[],
    check: JSON.parse(check) as string[],
    volume: of('VOLUME')[0],
  }
}

test(
  'the image runs a read-only installation unprivileged, with volume, health check and SIGTERM',
  async () => {
    const { check, command, env, user, volume } = lastStage('Dockerfile')
    expect([user, volume, command[0]]).toEqual(['node', '/data', 'node'])
    const app = await installedServer()
    execFileSync('chmod', ['-R', 'a-w,a+rX', app])
    const outside = temporaryFolder('volume')
    chmodSync(outside, 0o755)
    const [data, config] = [join(outside, 'data'), join(outside, 'config')]
    for (const folder of [data, config]) mkdirSync(folder)
    writeFileSync(join(config, 'errand.config.ts'), 'export default { agents: [] }')
    // If root, runs as the image's user; otherwise as the current user.
    const isRoot = process.getuid?.() === 0
    const as = isRoot ? ['setpriv', '--reuid=1000', '--regid=1000', '--clear-groups', '--no-new-privs'] : []
    const port = await freePort()
    const own = { ...env, ERRAND_DATA_DIR: data, ERRAND_CONFIG: join(config, 'errand.config.ts') }
    const settings = {
      ...own,
      ERRAND_PORT: String(port),
      ERRAND_BASE_URL: `http://127.0.0.1:${port}`,
      HOME: '/nonexistent',
    }
    const begin = () => {
      // Sets the image's environment only for the service, because setpriv aborts if jemalloc is preloaded.
      const given = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
      const [first = '', ...rest] = [...as, 'env', ...given, process.execPath, ...command.slice(1)]
      return start(first, rest, app)
    }
    const isHealthy = () => {
      const line = [process.execPath, ...check.slice(1)]
      return run(line[0]!, line.slice(1), app, settings).then(
        () => true,
        () => false,
      )
    }
    if (isRoot) {
      chmodSync(data, 0o700)
      chownSync(data, 1001, 1001)
      const refused = begin()
      await until('it ends', 60_000, () => refused.child.exitCode !== null)
      expect(refused.output()).toContain(
        'it belongs to the user 1001, but this process runs as the user 1000. Fix the whole data directory',
      )
      await refused.end('SIGKILL').catch(() => undefined)
      chownSync(data, 1000, 1000)
    }
    const service = begin()
    await until(`it is ready: ${service.output()}`, 60_000, isHealthy)
    expect(service.output()).not.toContain('warn')
    expect(await service.end('SIGTERM')).toBe(0)
    expect(service.output()).toContain('"msg":"stopped"')
    expect(await isHealthy()).toBe(false)
    execFileSync('chmod', ['-R', 'u+w', app])
  },
  runMsMax,
)

test('every deployment gives the service more time to stop than its drain time', () => {
  const least = limits.drainSeconds.default
  const [, unit] = /^TimeoutStopSec=(\d+)$/m.exec(read('deploy/errand.service')) ?? []
  expect(Number(unit)).toBeGreaterThan(least)
  for (const file of ['deploy/compose.sqlite.yaml', 'deploy/compose.postgres.yaml']) {
    const [, grace] = /stop_grace_period: (\d+)s/.exec(read(file)) ?? []
    expect(Number(grace), file).toBeGreaterThan(least)
  }
  expect(read('deploy/errand.service')).toMatch(/^ExecStart=\/usr\/bin\/node /m)
})

testNeeding('systemd', missingCommand('systemd-analyze', '--version'))(
  'the systemd units are valid and expose little',
  async () => {
    const folder = temporaryFolder('unit')
    const units = ['errand.service', 'errand-backup.service', 'errand-backup.timer']
    // Node has another path on this machine.
    for (const unit of units) {
      writeFileSync(join(folder, unit), read(`deploy/${unit}`).replace('/usr/bin/node', process.execPath))
    }
    const verified = await run('systemd-analyze', ['verify', ...units.map((unit) => join(folder, unit))], folder)
    expect(verified.stdout + verified.stderr).toBe('')
    for (const unit of ['errand.service', 'errand-backup.service']) {
      const { stdout } = await run('systemd-analyze', ['security', '--offline=true', join(folder, unit)], folder)
      const [, level] = /Overall exposure level for .*\.service: ([\d.]+)/.exec(stdout) ?? []
      console.log(`exposure of ${unit}: ${level}`)
      expect(Number(level)).toBeLessThan(2)
    }
  },
)

test('the backup unit writes a backup that can be restored, and deletes backups after 14 days', async () => {
  const backups = temporaryFolder('backups')
  const dataDir = temporaryFolder('data')
  const unit = read('deploy/errand-backup.service')
    .replace('/usr/bin/node', process.execPath)
    .replace('/opt/errand/node_modules/errand/server/errand.cjs', join(root, 'server/main.ts'))
    .replaceAll('/var/lib/errand-backups', backups)
    .replaceAll('%%', '%')
    .replaceAll('$$', '$')
  const lines = [...unit.matchAll(/^ExecStart(?:Post)?=(.*)$/gm)].map(([, line = '']) => line)
  expect(lines).toHaveLength(2)
  const env = { ...process.env, ERRAND_DATA_DIR: dataDir }
  await runErrand(['users', 'create', '--email', 'ada@example.com'], { ERRAND_DATA_DIR: dataDir })
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000)
  for (const [name, days] of [
    ['old.db', 15],
    ['recent.db', 13],
  ] as const) {
    writeFileSync(join(backups, name), '')
    utimesSync(join(backups, name), daysAgo(days), daysAgo(days))
  }
  for (const line of lines) execFileSync('sh', ['-c', line], { env })
  const [made = '', ...rest] = readdirSync(backups).toSorted()
  expect(made).toMatch(/^20\d\d-\d\d-\d\d-\d{6}\.db$/)
  expect(rest).toEqual(['recent.db'])
  const restored = join(temporaryFolder('restored'), 'data')
  await runErrand(['restore', join(backups, made)], { ERRAND_DATA_DIR: restored })
  expect(await runErrand(['users', 'list'], { ERRAND_DATA_DIR: restored })).toContain('ada@example.com')
})
