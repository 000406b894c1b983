import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { temporaryFolder } from '../../support/resources.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
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
