import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Leftovers = { processes: string[]; files: string[] }

export type RunFolder = {
  /** Environment for the tests. */
  env: Record<string, string>
  /** Ends the run's remaining processes, removes its folders, and reports both. */
  close(): Promise<Leftovers>
}

const guardian = fileURLToPath(new URL('./run-guardian.ts', import.meta.url))
const memory = '/dev/shm'
export const compileCache = 'compile-cache'

/**
 * Creates the temporary folders of a test run, on disk and in memory. All processes that the tests start have one of
 * them as TMPDIR or working directory, so a guardian finds them after the run, even if the run was killed.
 */
export function openRunFolder(): RunFolder {
  const folder = mkdtempSync(join(tmpdir(), 'errand-run-'))
  // Accessible to PostgreSQL, which does not run as root and has a folder of its own inside.
  chmodSync(folder, 0o711)
  const folders = [folder]
  // The tests start two hundred processes, which share their compiled code.
  const env: Record<string, string> = { TMPDIR: folder, NODE_COMPILE_CACHE: join(folder, compileCache) }
  if (existsSync(memory)) {
    const inMemory = join(memory, basename(folder))
    mkdirSync(inMemory, { mode: 0o711 })
    folders.push(inMemory)
    env['ERRAND_TESTS_MEMORY'] = inMemory
  }
  // Runs outside the terminal's process group, so that an interrupt ends the tests first and then the remaining
  // processes.
  const child = spawn(process.execPath, [guardian, String(process.pid), ...folders], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.unref()
  let answer = ''
  child.stdout.on('data', (chunk: Buffer) => (answer += chunk.toString()))
  return {
    env,
    close: async () => {
      child.ref()
      const closed = once(child, 'close')
      child.stdin.end()
      await closed
      return JSON.parse(answer) as Leftovers
    },
  }
}
