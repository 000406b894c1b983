import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startProcess, type BenchProcess } from './bench-process.ts'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export type BenchServer = BenchProcess & {
  dataDir: string
  startedInMs: number
}

export type ServerKind = 'errand' | keyof typeof floors

const floors = {
  'floor-group': (dataDir: string) => [file('./floor/floor-server.ts'), dataDir, 'group'],
  'floor-single': (dataDir: string) => [file('./floor/floor-server.ts'), dataDir, 'single'],
  'floor-ndjson': () => [file('./floor/ndjson-floor.ts')],
}

/** Returns the arguments of `npm run errand`. `root` is the checkout to serve. */
export function serveArguments(dataDir: string, root = file('..')): string[] {
  const config = ['--config', join(root, 'bench/bench-agents.ts')]
  const serve = ['serve', '--data', dataDir, ...config, '--port', '0', '--json']
  return ['--max-semi-space-size=4', join(root, 'server/main.ts'), ...serve]
}

type StartServer = { template: string; env?: Record<string, string>; args?: string[]; root?: string; core?: number }

/** The variables that `npm run errand` sets. */
export const allocatorOptions = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072' }

export async function startServer(
  kind: ServerKind,
  { args: more = [], core, env = {}, root, template }: StartServer,
): Promise<BenchServer> {
  const dataDir = mkdtempSync(join(tmpdir(), `errand-bench-${kind}-`))
  cpSync(template, dataDir, { recursive: true })
  const allocator = kind === 'errand' ? allocatorOptions : {}
  const args = kind === 'errand' ? [...serveArguments(dataDir, root), ...more] : floors[kind](dataDir)
  const startedAt = performance.now()
  const server = await startProcess(args, { ...allocator, ...env }, core)
  return {
    ...server,
    dataDir,
    startedInMs: performance.now() - startedAt,
    stop: async () => {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
