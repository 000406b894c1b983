import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** What was still there when a run had ended. */
export type Leftovers = { processes: string[]; files: string[] }

export type RunFolder = {
  /** What the tests are to find in their environment. */
  env: Record<string, string>
  /** Ends every process that is left of the run, removes its folders, and says what there was to end. */
  close(): Promise<Leftovers>
}

const guardian = fileURLToPath(new URL('./run-guardian.ts', import.meta.url))
const memory = '/dev/shm'
export const compileCache = 'compile-cache'

/**
 * A temporary folder of a run of the tests, and another one in memory. Whatever the tests make and start has these as its
 * TMPDIR or works in them, by which a guardian finds it when the run has ended, also when the run was killed.
 */
export function openRunFolder(): RunFolder {
  const folder = mkdtempSync(join(tmpdir(), 'errand-run-'))
  // PostgreSQL, which does not run as root, has its own folder below.
  chmodSync(folder, 0o711)
  const folders = [folder]
  // What one process has compiled the next need not, of the two hundred that the tests start.
  const env: Record<string, string> = { TMPDIR: folder, NODE_COMPILE_CACHE: join(folder, compileCache) }
  if (existsSync(memory)) {
    const inMemory = join(memory, basename(folder))
    mkdirSync(inMemory, { mode: 0o711 })
    folders.push(inMemory)
    env['ERRAND_TESTS_MEMORY'] = inMemory
  }
  // Out of the terminal's group: an interrupt ends the tests first, and then what they leave.
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
