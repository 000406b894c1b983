import { rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { assert } from '../kernel/assert.ts'
import type { Reloaded } from '../app/reloaded.ts'
import type { Logger } from '../kernel/logger.ts'
import { codeOf, messageOf } from '../kernel/thrown.ts'

// Commands connect to a socket in the running server's data directory to reload the server's configuration or get its
// URL. Only the directory's owner can connect. A signal to a stored process id, in contrast, could reach another
// process.

type Answer = { reloaded: Reloaded } | { failed: string } | { url: string }

type Serving = { log: Logger; reload: () => Promise<Reloaded>; url: string }

/** Listens until the process ends. Without the socket, a signal can still reload the configuration. */
export function listenForCommands(dataDir: string, { log, reload, url }: Serving): void {
  const path = socketPath(dataDir)
  const answer = async (request: string): Promise<Answer> => {
    if (request === 'url') return { url }
    return await reload().then(
      (reloaded) => ({ reloaded }),
      (error: unknown) => ({ failed: messageOf(error) }),
    )
  }
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', (request) => {
      void answer(request.toString()).then((result) => socket.end(JSON.stringify(result)))
    })
  })
  server.on('error', (error) =>
    log.warn({ err: error }, '`errand reload` cannot reach this server. Send SIGHUP instead'),
  )
  // An existing socket is left over from an earlier process, unless several nodes with PostgreSQL share the data
  // directory.
  rmSync(path, { force: true })
  server.listen(path).unref()
}

/** Throws if no server is running or the reload fails. */
export async function requestReload(dataDir: string): Promise<Reloaded> {
  const answer = await request(dataDir, 'reload')
  if (!answer) {
    throw new Error(
      `No server is running with the data directory ${resolve(dataDir)}. Choose another directory with --data.`,
    )
  }
  if ('failed' in answer)
    throw new Error(`Could not reload the configuration, so nothing has changed: ${answer.failed}`)
  assert('reloaded' in answer, 'a reload returns what it changed')
  return answer.reloaded
}

export async function requestUrl(dataDir: string): Promise<string | undefined> {
  const answer = await request(dataDir, 'url')
  return answer && 'url' in answer ? answer.url : undefined
}

async function request(dataDir: string, what: 'reload' | 'url'): Promise<Answer | undefined> {
  const socket = connect(socketPath(dataDir))
  socket.write(what)
  let answer: string
  try {
    answer = await text(socket)
  } catch (error) {
    if (!['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(codeOf(error))) throw error
    return undefined
  }
  if (answer === '') throw new Error('The server stopped before it responded. Start it again.')
  return JSON.parse(answer) as Answer
}

/** Uses the shorter of the absolute and relative paths, because socket paths are limited to about 100 characters. */
function socketPath(dataDir: string): string {
  const path = resolve(dataDir, 'server.sock')
  if (process.platform === 'win32') return join('\\\\.\\pipe', path.replaceAll(/[:\\]/g, '-'))
  const fromHere = relative('', path)
  return fromHere.length < path.length ? fromHere : path
}
