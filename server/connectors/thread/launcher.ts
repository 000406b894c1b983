import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { siblingModule } from '../../kernel/threads/sibling-module.ts'
import type { StdioTarget } from '../connector-spec.ts'
import { guardedSpawn, guardPipe, hasGroups, signalGroup } from './guarded-spawn.ts'

// Servers are started by a small separate process, the launcher. Starting a process copies the page tables of the
// parent, and all threads of the parent stop during the copy. For the service this would take 58 ms per gigabyte, and
// several times as long on a busy machine. The standard streams of a server are sockets to this thread, so messages do
// not pass through the launcher.

export type ToLauncher =
  | { type: 'start'; id: number; target: StdioTarget; cwd: string }
  | { type: 'signal'; id: number; signal: NodeJS.Signals }
export type FromLauncher =
  | { type: 'ready' }
  | { type: 'started'; id: number; pid: number }
  | { type: 'refused'; id: number; code: string; message: string }
  | ({ type: 'exited'; id: number } & Exit)

type Exit = { code: number | null; signal: NodeJS.Signals | null }

export type Launched = {
  pid: number
  stdin: Writable
  stdout: Readable
  stderr: Readable
  /** Resolves when the server has exited and the rest of its process group has been killed. */
  exited: Promise<Exit>
  /** Signals the entire process group. Has no effect once the server has exited. */
  signal(signal: NodeJS.Signals): void
}

/**
 * Time limit for starting the launcher, and for starting a server. If it is exceeded, the launcher is killed and
 * replaced.
 */
const answerMsMax = 30_000
/** Some systems reject longer socket paths. */
const folderCharsMax = 70

let launcher: Launcher | undefined

/** Starts a server. Rejects with spawn's error if its command cannot be started. */
export async function launch(target: StdioTarget, cwd: string): Promise<Launched> {
  if (!hasGroups) return await launchHere(target, cwd)
  const current = await readyLauncher()
  return await (current ? current.launch(target, cwd) : launchHere(target, cwd))
}

/** Returns undefined if the socket's folder cannot be created or the process does not start. */
async function readyLauncher(): Promise<Launcher | undefined> {
  try {
    launcher ??= new Launcher((gone) => {
      if (launcher === gone) launcher = undefined
    })
    const current = launcher
    await current.ready
    return current
  } catch {
    return undefined
  }
}

async function launchHere(target: StdioTarget, cwd: string): Promise<Launched> {
  const child = guardedSpawn(target, cwd, 'pipe')
  const exited = new Promise<Exit>((resolve) =>
    child.once('exit', (code, signal) => {
      signalGroup(child, 'SIGKILL')
      guardPipe(child)?.destroy()
      resolve({ code, signal })
    }),
  )
  await once(child, 'spawn')
  child.on('error', () => {})
  const { stderr, stdin, stdout } = child
  const signal = (name: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) signalGroup(child, name)
  }
  return { pid: child.pid!, stdin: stdin!, stdout: stdout!, stderr: stderr!, exited, signal }
}

class Launcher {
  readonly ready: Promise<void>
  readonly #process: ChildProcess
  readonly #path: string
  readonly #started = new Map<number, PromiseWithResolvers<number>>()
  readonly #exited = new Map<number, (exit: Exit) => void>()
  #lastId = 0
  #connecting: Promise<unknown> = Promise.resolve()

  constructor(onGone: (launcher: Launcher) => void) {
    const folder = mkdtempSync(join(tmpdir().length > folderCharsMax ? '/tmp' : tmpdir(), 'errand-'))
    this.#path = join(folder, 'launcher')
    const isReady = Promise.withResolvers<void>()
    this.ready = isReady.promise
    // Detach the launcher from the service's process group, because a terminal sends signals to the whole group.
    this.#process = fork(siblingModule(import.meta.url, 'launcher-process'), [this.#path], {
      detached: true,
      env: {},
      execArgv: [],
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    const gone = () => {
      onGone(this)
      this.#process.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
      const error = new Error('The process that starts connector servers has ended. Restart the service.')
      isReady.reject(error)
      for (const { reject } of this.#started.values()) reject(error)
      // The watchdogs have killed the servers.
      for (const resolve of this.#exited.values()) resolve({ code: null, signal: 'SIGKILL' })
      this.#exited.clear()
    }
    const watch = this.#watch()
    this.#process.once('exit', gone)
    this.#process.on('error', gone)
    this.#process.on('message', (message: FromLauncher) => {
      if (message.type === 'ready') isReady.resolve()
      else this.#receive(message)
    })
    const settled = () => {
      clearTimeout(watch)
      this.#keepAlive()
    }
    isReady.promise.then(settled, settled)
  }

  #watch(): NodeJS.Timeout {
    return setTimeout(() => this.#process.kill('SIGKILL'), answerMsMax).unref()
  }

  async launch(target: StdioTarget, cwd: string): Promise<Launched> {
    const id = ++this.#lastId
    const started = Promise.withResolvers<number>()
    this.#started.set(id, started)
    // Prevent an unhandled rejection if the launcher ends before this promise is awaited.
    started.promise.catch(() => {})
    const watch = this.#watch()
    const exited = new Promise<Exit>((resolve) => this.#exited.set(id, resolve))
    this.#keepAlive()
    let streams: readonly Socket[] = []
    try {
      const connecting = this.#connecting.then(() => this.#connect({ type: 'start', id, target, cwd }))
      this.#connecting = connecting.catch(() => {})
      streams = await connecting
      const pid = await started.promise
      const [stdin, stdout, stderr] = streams as [Socket, Socket, Socket]
      const signal = (name: NodeJS.Signals) => {
        if (this.#exited.has(id)) this.#send({ type: 'signal', id, signal: name })
      }
      return { pid, stdin, stdout, stderr, exited, signal }
    } catch (error) {
      for (const stream of streams) stream.destroy()
      this.#exited.delete(id)
      throw error
    } finally {
      clearTimeout(watch)
      this.#started.delete(id)
      this.#keepAlive()
    }
  }

  /** Connects three sockets to start a server. The launcher assigns connections in the order in which they arrive. */
  async #connect(start: ToLauncher): Promise<Socket[]> {
    const streams: Socket[] = []
    try {
      for (let n = 0; n < 3; n++) {
        // The first socket is the server's input. Like a pipe, it stays open until a write to it fails.
        const socket = connect({ path: this.#path, allowHalfOpen: n === 0 })
        streams.push(socket)
        await once(socket, 'connect')
        // Ignore errors, because the transport notices a broken stream when it ends.
        socket.on('error', () => {})
      }
    } catch (error) {
      for (const stream of streams) stream.destroy()
      // Kill the launcher, because it would mistake later connections for the missing ones.
      this.#process.kill('SIGKILL')
      throw error
    }
    this.#send(start)
    return streams
  }

  #send(message: ToLauncher): void {
    // Ignore send errors, because the `exit` event reports the end of the launcher.
    this.#process.send(message, () => {})
  }

  #receive(message: Exclude<FromLauncher, { type: 'ready' }>): void {
    const { id } = message
    if (message.type === 'started') return this.#started.get(id)?.resolve(message.pid)
    if (message.type === 'refused') {
      return this.#started.get(id)?.reject(Object.assign(new Error(message.message), { code: message.code }))
    }
    const { code, signal } = message
    this.#exited.get(id)?.({ code, signal })
    this.#exited.delete(id)
    this.#keepAlive()
  }

  /** Keeps this process running as long as a server runs. The launcher alone does not keep it running. */
  #keepAlive(): void {
    const { channel } = this.#process
    if (this.#exited.size > 0) {
      this.#process.ref()
      channel?.ref()
    } else {
      this.#process.unref()
      channel?.unref()
    }
  }
}
