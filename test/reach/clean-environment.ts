import { chmodSync, existsSync } from 'node:fs'
import { temporaryFolder } from '../support/resources.ts'

let folder: string | undefined

/**
 * The environment of somebody who has nothing to do with the tests: without the variables of the npm that runs them, which
 * would steer another one, and with a folder for what tools leave behind, which goes with the test file. The certificates that
 * the machine trusts stay: without them npm cannot reach a registry behind a proxy.
 */
export function cleanEnvironment(): Record<string, string> {
  if (folder === undefined || !existsSync(folder)) {
    folder = temporaryFolder('tools')
    // Services run as other users, too.
    chmodSync(folder, 0o1777)
  }
  const own = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_(?!EXTRA_CA_CERTS)/i.test(name))
  return { ...(Object.fromEntries(own) as Record<string, string>), TMPDIR: folder }
}
