import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

export type BenchProcess = {
  url: string
  residentMb: () => number
  /** User and system seconds of all threads so far. */
  cpuSeconds: () => number
  stop: () => Promise<void>
}

/** Starts a server with these arguments of Node as a process of its own; its first line of output names its URL. */
export async function startProcess(args: readonly string[], env: Record<string, string>): Promise<BenchProcess> {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ERRAND_LOG_LEVEL: 'error', ...env },
  })
  // A benchmark that fails leaves no server behind.
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  const url = await readUrl(child)
  return {
    url,
    residentMb: () => Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    cpuSeconds: () => {
      const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      return (Number(fields[11]) + Number(fields[12])) / 100
    },
    stop: async () => {
      const exited = new Promise((resolve) => child.once('exit', resolve))
      kill()
      await exited
      process.off('exit', kill)
    },
  }
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
