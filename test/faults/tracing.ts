import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { CannotRun } from './fault-report.ts'

/** Throws unless strace is installed and the system allows it to trace, as some containers do not. */
export function demandTracing(): void {
  const { error, status } = spawnSync('strace', ['-o', '/dev/null', 'true'])
  if (error) throw new CannotRun('strace is not installed')
  if (status !== 0) throw new CannotRun('the system forbids tracing')
}

/** A command line before the server's own that makes the fault at its `nth` call of each thread. */
export function injecting(calls: string, fault: string, nth: number): string[] {
  // Not with --seccomp-bpf, under which strace 6.1 sends no signal.
  const inject = `inject=${calls}:${fault}:when=${nth}`
  return ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', inject]
}

export type Injection = {
  /** The main thread serves and writes the database; others, those that are there by now, write payloads. */
  threads: 'main' | 'others'
  /** What strace's `inject` takes. */
  faults: readonly string[]
  /** Only calls on these files. */
  paths?: readonly string[]
}

/** Makes the faults in a process that runs, until `stop`. */
export async function injectInto(
  pid: number,
  { faults, paths = [], threads }: Injection,
): Promise<{ stop: () => Promise<void> }> {
  const calls = faults.map((fault) => fault.split(':')[0]).join(',')
  const isMain = (id: string) => id === String(pid)
  const ids = readdirSync(`/proc/${pid}/task`).filter((id) => isMain(id) === (threads === 'main'))
  const tracer = spawn(
    'strace',
    [
      '-o',
      '/dev/null',
      '-e',
      `trace=${calls}`,
      ...ids.flatMap((id) => ['-p', id]),
      ...faults.flatMap((fault) => ['-e', `inject=${fault}`]),
      ...paths.flatMap((path) => ['-P', path]),
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  const exited = once(tracer, 'exit')
  let log = ''
  await new Promise<void>((resolve, reject) => {
    tracer.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString()
      if (log.split('attached').length > ids.length) resolve()
    })
    void exited.then(() => reject(new CannotRun(`strace cannot attach to a process: ${log.trim()}`)))
  })
  return {
    stop: async () => {
      tracer.kill('SIGTERM')
      await exited
    },
  }
}
