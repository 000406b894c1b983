import { spawn, type ChildProcess } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export type BenchServer = {
  url: string
  dataDir: string
  /** Milliseconds from the start of the process until it listened. */
  startedInMs: number
  residentMb: () => number
  /** User and system seconds of all threads so far. */
  cpuSeconds: () => number
  stop: () => Promise<void>
}

export type ServerKind = 'errand' | keyof typeof floors

const floors = {
  'floor-group': (dataDir: string) => [file('./floor/floor-server.ts'), dataDir, 'group'],
  'floor-single': (dataDir: string) => [file('./floor/floor-server.ts'), dataDir, 'single'],
  'floor-ndjson': () => [file('./floor/ndjson-floor.ts')],
}

/** Starts a server as a process of its own on a copy of the prepared data directory. */
export async function startServer(
  kind: ServerKind,
  { template, env = {} }: { template: string; env?: Record<string, string> },
): Promise<BenchServer> {
  const dataDir = mkdtempSync(join(tmpdir(), `errand-bench-${kind}-`))
  cpSync(template, dataDir, { recursive: true })
  const args =
    kind === 'errand'
      ? [
          // As npm run errand starts it.
          '--max-semi-space-size=4',
          file('../server/main.ts'),
          'serve',
          '--data',
          dataDir,
          '--config',
          file('./bench-agents.ts'),
          '--port',
          '0',
          '--json',
        ]
      : floors[kind](dataDir)
  const startedAt = performance.now()
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ERRAND_LOG_LEVEL: 'error', ...env },
  })
  // A benchmark that fails leaves no server behind.
  const kill = () => child.kill('SIGKILL')
  process.on('exit', kill)
  const url = await readUrl(child)
  const startedInMs = performance.now() - startedAt
  return {
    url,
    dataDir,
    startedInMs,
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
      rmSync(dataDir, { recursive: true, force: true })
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
