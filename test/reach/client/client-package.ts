import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
  copyFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../support/resources.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const installMsMax = 600_000
const runMsMax = 120_000

type Ran = { stdout: string; stderr: string }

/** Runs a command to its end; throws with everything that it said when it fails or takes too long. */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  // The variables of the npm that runs the tests would steer the one that is run here.
  const own = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE_/i.test(name))
  const options = { cwd, env: { ...Object.fromEntries(own), ...env }, timeout: runMsMax, maxBuffer: 64 * 1024 * 1024 }
  try {
    return await promisify(execFile)(command, args, options)
  } catch (error) {
    const { stdout = '', stderr = '' } = error as Partial<Ran>
    throw new Error(`${command} ${args.join(' ')} failed in ${cwd}:\n${stdout}\n${stderr}`, { cause: error })
  }
}

let packing: Promise<string> | undefined

/** The tarball of the package as it is published, built from this checkout. */
export function packClient(): Promise<string> {
  return (packing ??= (async () => {
    await run(process.execPath, ['scripts/build-client.ts'], root)
    const folder = temporaryFolder('client-tarball')
    const { stdout } = await run(
      'npm',
      ['pack', '--json', '--pack-destination', folder],
      join(root, 'dist/errand-client'),
    )
    const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
    return join(folder, filename)
  })())
}

/** An empty project outside of the checkout with the package installed, and nothing else. */
export async function installedProject(files: Record<string, string> = {}, manifest: object = {}): Promise<string> {
  const tarball = await packClient()
  const folder = temporaryFolder('client-project')
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, ...manifest }))
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

const installing = new Map<string, Promise<string>>()

/** The folder of a package's installed tools; they are kept for as long as their lock file is the same. */
export function installTools(part: 'client' | 'package' = 'client'): Promise<string> {
  const toolsSource = join(root, 'test/reach/tools', part)
  const begun = installing.get(part)
  if (begun) return begun
  const tools = (async () => {
    const lock = readFileSync(join(toolsSource, 'package-lock.json'))
    const name = `${part}-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`
    const cache = join(root, 'node_modules/.cache/errand-tools')
    const folder = join(cache, name)
    // Metro does not follow links.
    if (existsSync(folder)) return realpathSync(folder)
    const aside = join(cache, `${name}.${process.pid}`)
    mkdirSync(aside, { recursive: true })
    for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(toolsSource, file), join(aside, file))
    await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund'], { cwd: aside, timeout: installMsMax })
    if (existsSync(folder)) rmSync(aside, { recursive: true })
    else renameSync(aside, folder)
    return realpathSync(folder)
  })()
  installing.set(part, tools)
  return tools
}
