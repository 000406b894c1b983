import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { temporaryFolder } from '../../support/resources.ts'
import { missingCommand, testNeeding } from '../../support/test-needing.ts'
import { until } from '../../support/until.ts'
import { root, start } from './package/server-package.ts'

testNeeding('curl', missingCommand('curl', '--version'))(
  'the demo prints its URL first, and its printed commands run as printed',
  async () => {
    const demo = `exec '${process.execPath}' '${join(root, 'server/main.ts')}' demo --port 0 2>&1`
    // An unknown variable, and one that the shell overrides, log warnings at startup.
    const folder = temporaryFolder('printed-example')
    writeFileSync(join(folder, '.env'), 'ERRAND_PROT=1\nERRAND_URL=http://one\n')
    const service = start('sh', ['-c', demo], folder, { ERRAND_URL: 'http://two' })
    await until(`it listens: ${service.output()}`, 60_000, () => service.output().includes('"msg":"listening"'))
    const [printed = '', ...log] = service.output().split(/^(?=\{)/m)
    expect(printed).toMatch(/^Errand is running at http:\/\/127\.0\.0\.1:\d+\n/)
    expect(log.join('')).toContain('ERRAND_PROT is not an Errand setting')
    expect(log.join('')).toContain('ERRAND_URL is set in the shell, which overrides .env.')
    const [, commands = ''] = printed.split('Try it in another terminal:\n')
    const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', commands], { timeout: 60_000 })
    expect(stdout).toMatch(/"endpointId":"text\.summarize",.*"status":"completed"/)
    expect(stdout).toMatch(/"type":"done",.*"costUsd":"0\.0005"/)
    expect(await service.end('SIGTERM')).toBe(0)
  },
)
