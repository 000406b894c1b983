import { execFile, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { BenchUser } from '../bench-data.ts'
import { startCommand, startProcess } from '../bench-process.ts'

export type Stack = {
  url: string
  drained: () => Promise<void>
  stop: () => Promise<void>
}

const installMsMax = 180_000
const redisStartMsMax = 10_000

export function requirePrograms(): void {
  const remedies = {
    taskset: 'It pins processes to a core on Linux. On Debian: apt-get install util-linux',
    'redis-server': 'The comparison needs it. On Debian: apt-get install redis-server',
  }
  for (const [program, remedy] of Object.entries(remedies)) {
    if (spawnSync(program, ['--version']).error) throw new Error(`${program} was not found. ${remedy}`)
  }
}

/** Copies the peer to a temporary folder, so that npm installs the peer's packages there and not in this checkout. */
export async function installPeer(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'peer-'))
  cpSync(fileURLToPath(new URL('./app', import.meta.url)), folder, { recursive: true })
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const installed = promisify(execFile)('npm', args, { cwd: folder, timeout: installMsMax, killSignal: 'SIGKILL' })
  const kill = () => installed.child.kill('SIGKILL')
  process.prependListener('exit', kill)
  try {
    await installed
  } catch (cause) {
    const limit = `within ${installMsMax / 1000} seconds`
    throw new Error(`Could not install the peer ${limit}. Check that npm reaches its registry.`, { cause })
  }
  process.off('exit', kill)
  return folder
}

type PeerStack = { peerFolder: string; users: readonly BenchUser[]; core: number; isRunning: boolean }

export async function startPeer({ core, isRunning, peerFolder, users }: PeerStack): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), 'redis-'))
  const usersFile = join(folder, 'users.json')
  writeFileSync(usersFile, JSON.stringify(users))
  const socketPath = join(folder, 'redis.sock')
  const redis = await startRedis(folder, { socketPath, core })
  const start = async (file: string, ...args: string[]) =>
    await startProcess([join(peerFolder, file), socketPath, ...args], { NODE_ENV: 'production' }, core)
  const server = await start('peer-server.mjs', usersFile)
  const processes = [server, ...(isRunning ? [await start('peer-worker.mjs')] : []), redis]
  return {
    url: server.url,
    drained: async () => {
      while ((await openJobs(socketPath)) !== 0) await sleep(5)
    },
    stop: async () => {
      for (const { stop } of processes) await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Starts Redis with the durability of SQLite's synchronous=FULL. Redis syncs its log before it responds, once per
 * event-loop tick for all commands of that tick. Snapshots and log rewrites are off, because they would slow the peer
 * down.
 */
async function startRedis(folder: string, { core, socketPath }: { core: number; socketPath: string }) {
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always']
  const uninterrupted = ['--save', '', '--auto-aof-rewrite-percentage', '0']
  const where = ['--dir', folder, '--port', '0', '--unixsocket', socketPath]
  const { child, stop } = startCommand(['redis-server', ...where, ...durable, ...uninterrupted], {}, core)
  const log: string[] = []
  for await (const line of createInterface({ input: child.stdout, signal: AbortSignal.timeout(redisStartMsMax) })) {
    log.push(line)
    if (line.includes('ready to accept connections')) {
      // Discard further output, because a full pipe would block Redis.
      child.stdout.resume()
      return { stop }
    }
  }
  throw new Error(`redis-server did not start:\n${log.join('\n')}`)
}

/** Counts queued jobs first, so that a job that starts in between is counted twice rather than missed. */
async function openJobs(socketPath: string): Promise<number> {
  const socket = connect(socketPath)
  socket.write('LLEN bull:tasks:wait\r\nLLEN bull:tasks:active\r\nQUIT\r\n')
  const [waiting, active] = Array.from((await text(socket)).matchAll(/^:(\d+)/gm), ([, count]) => Number(count))
  return waiting! + active!
}
