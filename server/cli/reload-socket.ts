import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Reloaded } from '../app/reloaded.ts'
import type { Logger } from '../kernel/logger.ts'
import { codeOf, messageOf } from '../kernel/thrown.ts'

// `errand reload` connects to a socket in the data directory of the running server, which then reloads its
// configuration. Only the directory's owner can connect. A signal to a stored process id could reach another process; a
// connection cannot.

type Answer = { reloaded: Reloaded } | { failed: string }

/** Listens until the process ends. If the socket cannot be created, a signal can still reload the configuration. */
export function listenForReload(
  dataDir: string,
  { log, reload }: { log: Logger; reload: () => Promise<Reloaded> },
): void {
  const path = socketPath(dataDir)
  const server = createServer((socket) => {
    socket.on('error', () => {})
    void reload()
      .then(
        (reloaded): Answer => ({ reloaded }),
        (error: unknown): Answer => ({ failed: messageOf(error) }),
      )
      .then((answer) => socket.end(JSON.stringify(answer)))
  })
  server.on('error', (error) =>
    log.warn({ err: error }, '`errand reload` cannot reach this server. Send SIGHUP instead'),
  )
  // An existing socket belongs to a process that has ended. Only nodes of a PostgreSQL database can share a data
  // directory.
  rmSync(path, { force: true })
  server.listen(path).unref()
}

/**
 * Makes the server of the data directory reload its configuration. Throws if no server is running or the reload fails.
 */
export async function requestReload(dataDir: string): Promise<Reloaded> {
  const socket = connect(socketPath(dataDir))
  let answer: string
  try {
    answer = await text(socket)
  } catch (error) {
    if (!['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(codeOf(error))) throw error
    const message = `No server is running with the data directory ${resolve(dataDir)}. Choose another directory with --data.`
    throw new Error(message, { cause: error })
  }
  if (answer === '') throw new Error('The server stopped before it reloaded its configuration. Start it again.')
  const parsed = JSON.parse(answer) as Answer
  if ('failed' in parsed)
    throw new Error(`Could not reload the configuration, so nothing has changed: ${parsed.failed}`)
  return parsed.reloaded
}

/** Uses the shorter of two forms, because socket paths are limited to about a hundred characters. */
function socketPath(dataDir: string): string {
  const path = resolve(dataDir, 'reload.sock')
  if (process.platform === 'win32') return join('\\\\.\\pipe', path.replaceAll(/[:\\]/g, '-'))
  const fromHere = relative('', path)
  return fromHere.length < path.length ? fromHere : path
}
