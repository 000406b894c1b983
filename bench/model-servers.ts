import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BenchUser } from './bench-data.ts'
import { startProcess, type BenchProcess } from './bench-process.ts'
import type { FloorRequest, FloorResult } from './floor/model-floor.ts'
import { drive, requestBytes } from './http-driver.ts'

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export type ModelServers = {
  stub: BenchProcess
  ours: BenchProcess
  floor: BenchProcess
}

/**
 * Starts the three processes, calls `use` to measure, and always stops them afterwards. `core` pins the service and the
 * baseline to one core. The stub stays on the driver's core.
 */
export async function withModelServers<Result>(
  template: string,
  use: (servers: ModelServers) => Promise<Result>,
  core?: number,
): Promise<Result> {
  const dataDir = mkdtempSync(join(tmpdir(), 'errand-bench-models-'))
  cpSync(template, dataDir, { recursive: true })
  const started: BenchProcess[] = []
  const start = async (args: string[], env: Record<string, string> = {}, on?: number) => {
    const server = await startProcess(args, env, on)
    started.push(server)
    return server
  }
  try {
    const stub = await start([file('./model-stub.ts')])
    const env = { BENCH_MODEL_URL: stub.url, ERRAND_EXECUTIONS_PER_MINUTE: '0' }
    const floor = await start([file('./floor/model-floor.ts')], env, core)
    const config = ['--config', file('./bench-model-agents.ts')]
    // The same arguments as in `npm run errand`.
    const serve = ['--max-semi-space-size=4', file('../server/main.ts'), 'serve', '--data', dataDir, ...config]
    const ours = await start([...serve, '--port', '0', '--json'], env, core)
    return await use({ stub, ours, floor })
  } finally {
    await Promise.all(started.map((server) => server.stop()))
    rmSync(dataDir, { recursive: true, force: true })
  }
}

export async function runFloor(floor: BenchProcess, request: FloorRequest, signal?: AbortSignal): Promise<FloorResult> {
  const answer = await fetch(floor.url, { method: 'POST', body: JSON.stringify(request), ...(signal && { signal }) })
  if (!answer.ok) throw new Error(await answer.text())
  return (await answer.json()) as FloorResult
}

export async function floorDeltas(floor: BenchProcess): Promise<number> {
  return ((await (await fetch(floor.url)).json()) as { deltas: number }).deltas
}

type Chats = { users: readonly BenchUser[]; count: number; message: string }

/** Returns chat requests to the model agent for new sessions. The users alternate. */
export async function modelChats(ours: BenchProcess, { count, message, users }: Chats): Promise<Buffer[]> {
  const owners = Array.from({ length: count }, (_, index) => users[index % users.length]!)
  const body = JSON.stringify({ agentId: 'benchmodel' })
  const queue = owners.map(({ key }) => requestBytes('POST', '/api/sessions', { key, body }))
  const sessionIds: string[] = []
  const onBody = (answer: string) => {
    const { sessionId } = JSON.parse(answer) as { sessionId?: string }
    if (sessionId === undefined) throw new Error(`no session: ${answer}`)
    sessionIds.push(sessionId)
  }
  // Use a single connection, so that responses arrive in the order of the users.
  await drive({ url: ours.url, connections: 1, next: () => queue.shift(), onBody })
  return owners.map(({ key }, index) => {
    const chat = JSON.stringify({ sessionId: sessionIds[index], message })
    return requestBytes('POST', '/api/chat', { key, body: chat })
  })
}
