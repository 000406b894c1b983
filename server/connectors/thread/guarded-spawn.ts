import { spawn, type ChildProcess } from 'node:child_process'
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import type { Socket } from 'node:net'
import { resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import { must } from '../../kernel/assert.ts'
import { codeOf } from '../../kernel/thrown.ts'
import type { StdioTarget } from '../connector-spec.ts'

export const hasGroups = process.platform !== 'win32'

/** Search path if the environment has no PATH, as in libuv. */
const defaultPath = '/usr/bin:/bin'
const shell = '/bin/sh'

/**
 * Watchdog in the server's process group. It blocks on a pipe that this process holds open and never writes to. When
 * this process or thread ends, the pipe always reports EOF, and the watchdog kills the group. It starts before the
 * server, so the server never runs without it. The shell does not parse any part of a command.
 */
const guard = `(trap '' HUP INT TERM; exec ${shell} -c 'read -r line; kill -KILL 0' <&3 3<&- >/dev/null 2>&1) &`
const shellVariables = ['PWD', 'OLDPWD', 'SHLVL', '_']

/** Standard input, output and error of a server: new pipes or existing sockets. */
type Stdio = 'pipe' | readonly [Socket, Socket, Socket]

/**
 * Starts a server as the leader of a new process group. The group never outlives this process, even on SIGKILL. If the
 * command cannot be started, throws spawn's error, or the returned child emits it. Without process groups or a shell,
 * as on Windows, nothing kills the server, which only notices the end of its input.
 */
export function guardedSpawn({ args, command, env }: StdioTarget, cwd: string, stdio: Stdio): ChildProcess {
  const options = { env, cwd, windowsHide: true }
  const streams = stdio === 'pipe' ? (['pipe', 'pipe', 'pipe'] as const) : stdio
  // On Windows, a process group would open a console.
  if (!hasGroups || !existsSync(shell)) {
    return spawn(command, args, { ...options, detached: hasGroups, stdio: [...streams] })
  }
  const file = findCommand(command, { path: env['PATH'] ?? defaultPath, cwd })
  const added = shellVariables.filter((name) => env[name] === undefined)
  const script = `${guard} unset ${added.join(' ')}; exec "$@" 3<&-`
  const child = spawn(shell, ['-c', script, 'sh', file, ...args], {
    ...options,
    detached: true,
    stdio: [...streams, 'pipe'],
  })
  guardPipe(child)?.on('error', () => {})
  return child
}

/**
 * Signals the entire process group of a server that has not been reaped. Ignores errors for a group that is empty or
 * has members that this process may not signal.
 */
export function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (hasGroups) process.kill(-must(child.pid, 'a started process has a process id'), signal)
    else child.kill(signal)
  } catch {
    return
  }
}

/** Returns the pipe to the watchdog. Closing it ends the server. */
export function guardPipe({ stdio }: { stdio: readonly unknown[] }): Duplex | undefined {
  return (stdio[3] ?? undefined) as Duplex | undefined
}

type Place = { path: string; cwd: string }

/**
 * Finds the executable of a command. Throws the same errors as spawn. If the shell reported them instead, it would look
 * as if the server had exited.
 */
function findCommand(command: string, { cwd, path }: Place): string {
  const files = command.includes('/') ? [command] : path.split(':').map((folder) => `${folder || '.'}/${command}`)
  let code = 'ENOENT'
  for (const file of files.map((given) => resolve(cwd, given))) {
    try {
      if (!statSync(file).isFile()) continue
      accessSync(file, constants.X_OK)
      return file
    } catch (error) {
      if (codeOf(error) === 'EACCES') code = 'EACCES'
    }
  }
  throw Object.assign(new Error(`spawn ${code}`), { code })
}
