import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../../support/resources.ts'
import { until } from '../../../support/until.ts'
import { cleanEnvironment } from '../../clean-environment.ts'

const root = fileURLToPath(new URL('../../../../', import.meta.url))
const runMsMax = 120_000
const lockMsMax = 300_000

type Ran = { stdout: string; stderr: string }

/** Runs a command to its end. On failure or timeout throws its complete output. */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
  timeout = runMsMax,
): Promise<Ran> {
  const options = { cwd, env: { ...cleanEnvironment(), ...env }, timeout, maxBuffer: 64 * 1024 * 1024 }
  try {
    return await promisify(execFile)(command, args, options)
  } catch (error) {
    const { stdout = '', stderr = '' } = error as Partial<Ran>
    throw new Error(`${command} ${args.join(' ')} failed in ${cwd}:\n${stdout}\n${stderr}`, { cause: error })
  }
}

let packed: Promise<string> | undefined

/** Returns the tarball of the package as published, built from this checkout once per test file. */
export async function packClient(): Promise<string> {
  // Checks that the tarball still exists: test files of a worker share this module, but folders are removed after each
  // file.
  if (packed && existsSync(await packed)) return await packed
  packed = pack('errand-client', 'scripts/build-client.ts')
  return await packed
}

/** Builds and packs a package, one at a time, because each build replaces the previous one. */
export async function pack(name: string, build: string): Promise<string> {
  mkdirSync(join(root, 'dist'), { recursive: true })
  const lock = join(root, 'dist', '.packing')
  await until('nobody else packs', lockMsMax, () => isLocked(lock))
  try {
    await run(process.execPath, [build], root)
    return await packFolder(join(root, 'dist', name))
  } finally {
    rmSync(lock, { force: true })
  }
}

export async function packFolder(folder: string): Promise<string> {
  const target = temporaryFolder('tarball')
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', target], folder)
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  return join(target, filename)
}

/** Tries to take the lock. Removes the lock of a dead owner, so that the next try succeeds. */
function isLocked(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    try {
      process.kill(Number(readFileSync(lock, 'utf8')) || process.pid, 0)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') rmSync(lock, { force: true })
    }
    return false
  }
}

/** Creates an empty project outside of the checkout with only the package installed. */
export async function installedProject(files: Record<string, string> = {}, manifest: object = {}): Promise<string> {
  const tarball = await packClient()
  const folder = temporaryFolder('client-project')
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, ...manifest }))
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarball], folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}
