import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { openResources } from './resources.ts'
import { engine } from './test-engine.ts'
import { within } from './until.ts'

const startMsMax = 60_000
/** Long enough for a server to drain as long as its settings allow. */
const endMsMax = 120_000
const commandMsMax = 240_000

const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url))
const testConfig = fileURLToPath(new URL('./test-agents.ts', import.meta.url))

type ProcessOptions = {
  dataDir: string
  config?: string
  command?: 'serve' | 'demo'
  args?: string[]
  env?: Record<string, string>
  /** A command that runs the server, such as a tracer. Signals then go to the whole process group. */
  under?: readonly string[]
  /** Called as soon as the process exists, because it may end before it listens. */
  onSpawn?: (child: ChildProcess) => void
}

export type ServerProcess = {
  url: string
  child: ChildProcess
  /** Standard error so far. */
  log: () => string
  /** Sends the signal and resolves with the exit code once the process has exited; null if the signal killed it. */
  end: (signal: NodeJS.Signals) => Promise<number | null>
}

/** Starts `errand serve` or `errand demo` as a separate process on a free port. */
export async function startProcess({
  dataDir,
  config = testConfig,
  command: verb = 'serve',
  args = [],
  env = {},
  under = [],
  onSpawn,
}: ProcessOptions): Promise<ServerProcess> {
  const database = await engine().environment(dataDir)
  const isGroup = under.length > 0
  const serve = [main, verb, '--data', dataDir, '--config', config, '--port', '0', '--json', ...args]
  const [command = '', ...line] = [...under, process.execPath, ...serve]
  const child = spawn(command, line, {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: isGroup,
    env: { ...process.env, ...database, ...env },
  })
  onSpawn?.(child)
  const name = `server process ${child.pid}`
  openResources.add(name)
  const send = (signal: NodeJS.Signals) => {
    if (!isGroup) child.kill(signal)
    else if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal)
  }
  const kill = () => send('SIGKILL')
  process.once('exit', kill)
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const exited = new Promise<number | null>((resolve) => {
    child.once('exit', (code) => {
      process.off('exit', kill)
      openResources.delete(name)
      resolve(code)
    })
  })
  const listening = new Promise<string>((resolve, reject) => {
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('\n')) resolve((JSON.parse(output) as { url: string }).url)
    })
    void exited.then((code) => reject(new Error(`the server exited with ${code}: ${inWords(log)}`)))
  })
  const url = await within(`${name} listens`, startMsMax, listening).catch((error: unknown) => {
    kill()
    const { message } = error as Error
    throw message.includes(inWords(log)) ? error : new Error(`${message}: ${inWords(log)}`, { cause: error })
  })
  return {
    url,
    child,
    log: () => log,
    end: (signal) => {
      send(signal)
      return within(`${name} ends by ${signal}`, endMsMax, exited)
    },
  }
}

/** Replaces the JSON error that `--json` prints with its message. */
function inWords(log: string): string {
  return log.replace(/^\{"error":.*\}$/m, (line) => `errand: ${(JSON.parse(line) as { message: string }).message}`)
}

/** Runs one CLI command. Rejects with `code` and `stderr` if the command fails. */
export async function runErrand(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const dataDir = args[args.indexOf('--data') + 1]
  const database = args.includes('--data') && dataDir !== undefined ? await engine().environment(dataDir) : {}
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args], {
    env: { ...process.env, ...database, ...env },
    timeout: commandMsMax,
    killSignal: 'SIGKILL',
  })
  return stdout
}
