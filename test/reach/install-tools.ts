import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const root = fileURLToPath(new URL('../../', import.meta.url))
const installMsMax = 900_000

/**
 * Installs the packages of a folder in `tools` and returns their `node_modules`. The packages are too many to install
 * with the service. They stay installed across runs, keyed by the lock file. Rejects with npm's output on failure.
 */
export async function installTools(name: string): Promise<string> {
  const tools = join(root, 'test/reach/tools', name)
  const lock = createHash('sha256')
    .update(readFileSync(join(tools, 'package-lock.json')))
    .digest('hex')
  const folder = join(root, 'node_modules/.cache/errand-tools', `${name}-${lock.slice(0, 16)}`)
  if (existsSync(folder)) return join(folder, 'node_modules')
  const partial = `${folder}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(tools, file), join(partial, file))
  const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
  try {
    await promisify(execFile)('npm', npm, { cwd: partial, timeout: installMsMax, killSignal: 'SIGKILL' })
    renameSync(partial, folder)
  } catch (error) {
    rmSync(partial, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return join(folder, 'node_modules')
}
