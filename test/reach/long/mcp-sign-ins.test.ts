import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { expectSound, startWorld } from '../../connectors/run-checks.ts'
import { createOwner } from '../../sign-ins/sign-in-world.ts'
import { installTools } from '../install-tools.ts'

// The protocol's own suite acts as connector and authorization server, and checks the sign-in.

const suiteMsMax = 240_000
const baseline = fileURLToPath(new URL('../tools/sign-ins/sign-ins-baseline.yml', import.meta.url))
const client = fileURLToPath(new URL('../conformance-client.ts', import.meta.url))
const run = promisify(execFile)

test.for(['auth', 'backcompat', 'draft', 'extensions'])(
  "connector sign-ins pass the protocol's conformance suite, except for the known failures: %s",
  { timeout: suiteMsMax },
  async (suite) => {
    const world = await startWorld({
      limits: { connectorChecksPerMinute: 0 },
      privateHosts: ['127.0.0.1', 'localhost'],
    })
    const { browser, key } = await createOwner(world.service)
    const conformance = join(await installTools('sign-ins'), '.bin/conformance')
    const command = `${process.execPath} ${client}`
    const args = ['client', '--suite', suite, '--command', command, '--expected-failures', baseline]
    const env = {
      ...process.env,
      ERRAND_URL: world.service.url,
      ERRAND_KEY: key,
      ERRAND_LOGIN: browser.cookies.get('errand'),
    }
    const { stdout } = await run(conformance, args, { env, timeout: suiteMsMax, maxBuffer: 1 << 26 }).catch(
      (failed: { stdout: string; stderr: string }) => {
        throw new Error(`${failed.stdout}\n${failed.stderr}`)
      },
    )
    expect(stdout).toContain('Baseline check passed')
    await expectSound(world)
    await world.stop()
  },
)
