import { chmodSync, existsSync } from 'node:fs'
import { temporaryFolder } from '../support/resources.ts'

let folder: string | undefined

/**
 * Returns the environment of an unrelated user: without variables of the npm that runs the tests, which would affect
 * other npm runs, and with a temporary folder for the tools' files. Trusted certificates stay, because npm needs them
 * to reach a registry behind a proxy.
 */
export function cleanEnvironment(): Record<string, string> {
  if (folder === undefined || !existsSync(folder)) {
    folder = temporaryFolder('tools')
    // Services also run as other users.
    chmodSync(folder, 0o1777)
  }
  const own = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_(?!EXTRA_CA_CERTS)/i.test(name))
  return { ...(Object.fromEntries(own) as Record<string, string>), TMPDIR: folder }
}
