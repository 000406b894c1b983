import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openResources, temporaryFolder } from '../../../support/resources.ts'
import { until, within } from '../../../support/until.ts'
import { cleanEnvironment } from '../../clean-environment.ts'
import { pack, packClient, run } from '../client/client-package.ts'

export const root = fileURLToPath(new URL('../../../../', import.meta.url))
const listenMsMax = 120_000
const installMsMax = 450_000
const endMsMax = 60_000

let packed: Promise<string> | undefined

/** Returns the tarball of the package `errand` as published, built from this checkout once per test file. */
export async function packServer(): Promise<string> {
  if (packed && existsSync(await packed)) return await packed
  packed = pack('errand', 'scripts/build-server.ts')
  return await packed
}

/**
 * Creates a folder outside of the checkout and installs the package there as a user does, without development
 * dependencies.
 */
export async function installedServer({ withClient = false } = {}): Promise<string> {
  const tarballs = [await packServer(), ...(withClient ? [await packClient()] : [])]
  const folder = temporaryFolder('server-project')
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }))
  await install(folder, ...tarballs)
  return folder
}

/** Registries are slow, for some packages over a minute, so npm prefers its cache. */
export async function install(folder: string, ...what: string[]): Promise<void> {
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...what], folder, {}, installMsMax)
}

export type Started = {
  child: ChildProcess
  /** Combined output on stdout and stderr so far. */
  output: () => string
  /**
   * Sends the signal to the process alone. Resolves with its exit code or fatal signal once its children have exited,
   * too.
   */
  end: (signal: NodeJS.Signals) => Promise<number | NodeJS.Signals | null>
}

/** Starts a command as users do. The test kills the remains of its process group. */
export function start(command: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Started {
  const child = spawn(command, args, {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const name = `${command} ${args.join(' ')} (${child.pid})`
  openResources.add(name)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const killGroup = () => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // All processes have exited.
    }
  }
  process.once('exit', killGroup)
  return {
    child,
    output: () => output,
    end: async (signal) => {
      child.kill(signal)
      const [code, by] = await within(`${name} ends by ${signal}`, endMsMax, exited)
      try {
        await until(`what ${name} started ends: ${output}`, endMsMax, () => !isGroupAlive(child.pid!))
      } finally {
        killGroup()
        process.off('exit', killGroup)
        openResources.delete(name)
      }
      return code ?? by
    },
  }
}

function isGroupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0)
    return true
  } catch {
    return false
  }
}

/** Returns the URL that a starting service prints. */
export async function addressOf(started: Started): Promise<string> {
  const address = () => /"url":"(http:\/\/127\.0\.0\.1:\d+)"/.exec(started.output())?.[1]
  const isOver = () => address() !== undefined || started.child.exitCode !== null
  await until(`it listens: ${started.output()}`, listenMsMax, isOver)
  const url = address()
  if (url === undefined) throw new Error(`it ended: ${started.output()}`)
  return url
}

/** Returns the demo user's credentials in a folder, once their file exists. */
export async function demoOf(folder: string): Promise<{ email: string; key: string; password: string }> {
  const file = join(folder, '.errand/demo.json')
  await until(`${file} is there`, listenMsMax, () => existsSync(file) && readFileSync(file, 'utf8').endsWith('}'))
  return JSON.parse(readFileSync(file, 'utf8')) as { email: string; key: string; password: string }
}

/** Runs a task of the quickstart with the demo's key, to its end. */
export async function runTask(folder: string, url: string): Promise<{ status: string; costUsd: string }> {
  const { key } = await demoOf(folder)
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ endpointId: 'data.profile', params: { csv: 'a,b\n1,2\n' } })
  const created = (await (await fetch(`${url}/api/tasks`, { method: 'POST', headers, body })).json()) as {
    taskId: string
  }
  const ended = await fetch(`${url}/api/tasks/${created.taskId}?wait=30`, { headers })
  return (await ended.json()) as { status: string; costUsd: string }
}
