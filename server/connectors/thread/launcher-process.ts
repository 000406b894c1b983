import type { ChildProcess } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { must } from '../../kernel/assert.ts'
import { codeOf, messageOf } from '../../kernel/thrown.ts'
import { guardedSpawn, guardPipe, signalGroup } from './guarded-spawn.ts'
import type { FromLauncher, ToLauncher } from './launcher.ts'

// Entry point of the launcher process. The launcher exits when the thread that started it ends. The watchdogs then kill
// its servers.

type Start = Extract<ToLauncher, { type: 'start' }>

const nicenessMax = 19
/**
 * Niceness to add for each server that is already running. 64 servers together then get about as much CPU time as three
 * processes.
 */
const nicenessStep = 3
/** Linux allows ten priority changes per second across all unprivileged processes. */
const retryMs = 150
const retriesMax = 100

const path = must(process.argv[2], 'the launcher gets the path of its socket')
const children = new Map<number, ChildProcess>()
const starts: Start[] = []
/** Accepted connections that no server uses yet. They arrive in the order of `starts`, three per server. */
const arrived: Socket[] = []

function tell(message: FromLauncher): void {
  // Ignore send errors, which occur only if the parent has ended.
  process.send!(message, () => {})
}

function refuse(id: number, error: unknown): void {
  tell({ type: 'refused', id, code: codeOf(error), message: messageOf(error) })
}

function start({ cwd, id, target }: Start, stdio: [Socket, Socket, Socket]): void {
  try {
    const child = guardedSpawn(target, cwd, stdio)
    const niceness = Math.min(nicenessMax, nicenessStep * children.size)
    children.set(id, child)
    child.once('spawn', () => {
      tell({ type: 'started', id, pid: child.pid! })
      lowerPriority(child, niceness)
    })
    child.on('error', (error) => {
      if (child.pid !== undefined) return
      children.delete(id)
      refuse(id, error)
    })
    child.once('exit', (code, signal) => {
      signalGroup(child, 'SIGKILL')
      guardPipe(child)?.destroy()
      children.delete(id)
      tell({ type: 'exited', id, code, signal })
    })
  } catch (error) {
    refuse(id, error)
  } finally {
    // Close these copies, because the server has its own descriptors.
    for (const stream of stdio) stream.destroy()
  }
}

/**
 * Lowers the priority of a server's session. The more servers are running, the lower the priority. Linux may schedule
 * each session as a unit (autogroup) and ignore the niceness of its processes. Many servers would then leave little CPU
 * time for the service.
 */
function lowerPriority(child: ChildProcess, niceness: number, retries = retriesMax): void {
  if (niceness === 0 || child.exitCode !== null || child.signalCode !== null) return
  try {
    writeFileSync(`/proc/${child.pid}/autogroup`, String(niceness))
  } catch (error) {
    if (codeOf(error) === 'EAGAIN' && retries > 0) {
      setTimeout(() => lowerPriority(child, niceness, retries - 1), retryMs)
    }
  }
}

function startNext(): void {
  while (starts.length > 0 && arrived.length >= 3) {
    start(starts.shift()!, arrived.splice(0, 3) as [Socket, Socket, Socket])
  }
}

process.on('message', (message: ToLauncher) => {
  if (message.type === 'start') {
    starts.push(message)
    return startNext()
  }
  const child = children.get(message.id)
  if (child) signalGroup(child, message.signal)
})
process.on('disconnect', () => {
  rmSync(dirname(path), { recursive: true, force: true })
  process.exit()
})
// Ignore these signals. When the service stops, running tasks may finish and still need their servers.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
  socket.on('error', () => {})
  arrived.push(socket)
  startNext()
})
server.listen(path, () => tell({ type: 'ready' }))
