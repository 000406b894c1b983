import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { CannotRun } from '../support/test-parts.ts'
import { within } from '../support/until.ts'

const attachMsMax = 15_000
const detachMsMax = 15_000

/** Throws unless strace is installed and permitted; some containers forbid it. */
export function demandTracing(): void {
  const { error, status, stderr } = spawnSync('strace', ['-o', '/dev/null', 'true'], { timeout: attachMsMax })
  if (error) throw new CannotRun('strace', error.message)
  if (status !== 0) throw new CannotRun('strace', String(stderr).trim())
}

/** Returns a command prefix that injects the fault at the `nth` such call of each thread. */
export function injecting(calls: string, fault: string, nth: number): string[] {
  // Omits --seccomp-bpf, with which strace 6.1 sends no signal.
  const inject = `inject=${calls}:${fault}:when=${nth}`
  return ['strace', '-f', '-qq', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', inject]
}

export type Injection = {
  /**
   * The main thread serves requests and writes the database; the others write payloads. Threads that start later are
   * not affected.
   */
  threads: 'main' | 'others'
  /** Faults in the syntax of strace's `inject`. */
  faults: readonly string[]
  paths?: readonly string[]
}

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
  const stop = async () => {
    tracer.kill('SIGTERM')
    try {
      await within('strace lets go', detachMsMax, exited)
    } catch (error) {
      tracer.kill('SIGKILL')
      throw error
    }
  }
  let log = ''
  const attached = new Promise<void>((resolve, reject) => {
    tracer.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString()
      // A thread may have exited since it was listed.
      if ((log.match(/attached|No such process/g) ?? []).length >= ids.length) resolve()
    })
    exited.then(
      () => reject(new Error(`strace cannot attach: ${log.trim()}`)),
      (error: unknown) => reject(new CannotRun('strace', String(error))),
    )
  })
  try {
    await within(`strace attaches to ${ids.length} threads of ${pid}`, attachMsMax, attached)
  } catch (error) {
    tracer.kill('SIGKILL')
    throw new Error(`${String(error)}; strace wrote: ${log.trim()}`, { cause: error })
  }
  return { stop }
}
