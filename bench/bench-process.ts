import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { profileOptions } from './profile.ts'

export type BenchProcess = {
  url: string
  pid: number
  residentMb: () => number
  cpuSeconds: () => number
  stop: () => Promise<void>
}

/**
 * Starts a server as a separate Node process and reads its URL from the first line of its output. `core` pins all its
 * threads to one core.
 */
export async function startProcess(
  args: readonly string[],
  env: Record<string, string>,
  core?: number,
): Promise<BenchProcess> {
  const options = args.some((arg) => arg.endsWith('server/main.ts')) ? profileOptions() : []
  const words = [process.execPath, ...options, ...args]
  const { child, stop } = startCommand(words, { ERRAND_LOG_LEVEL: 'error', ...env }, core)
  const url = await readUrl(child)
  return {
    url,
    pid: child.pid!,
    residentMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    cpuSeconds: () => cpuSecondsOf(child.pid!),
    stop,
  }
}

/** Starts a command that is killed when this process exits. */
export function startCommand(words: readonly string[], env: Record<string, string>, core?: number) {
  // taskset replaces itself with the command, so `child` is the command's own process.
  const [command, ...args] = core === undefined ? words : ['taskset', '-c', String(core), ...words]
  const child = spawn(command!, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  // Kill the server if a benchmark fails. Runs before the exit listeners that delete the server's files.
  const kill = () => child.kill('SIGKILL')
  process.prependListener('exit', kill)
  const stop = async (): Promise<void> => {
    // A process that is killed with SIGKILL does not write its profile.
    if (words.includes('--cpu-prof')) child.kill('SIGTERM')
    else kill()
    await exited
    process.off('exit', kill)
  }
  return { child, stop }
}

/** Returns the user and system CPU seconds that a process has used so far, including its exited children. */
export function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100
}

export function cpuSecondsOfChildren(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return children.reduce((sum, child) => {
    try {
      return sum + cpuSecondsOf(Number(child))
    } catch {
      // The child has just exited, so the total of its parent now includes it.
      return sum
    }
  }, 0)
}

async function readUrl(child: ChildProcess): Promise<string> {
  return await new Promise((resolve, reject) => {
    let output = ''
    child.stdout!.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('\n')) resolve((JSON.parse(output) as { url: string }).url)
    })
    child.once('exit', (code) => reject(new Error(`the server exited with ${code}`)))
  })
}
