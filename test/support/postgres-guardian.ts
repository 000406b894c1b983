import { statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { PostgresProcess } from './postgres-process.ts'

// Runs a PostgreSQL server for another process until that process closes the pipe or dies. Then it stops the server and
// removes its folder. The argument is the server's settings as JSON. The output is one line of JSON.

const bytesNeeded = 2_000_000_000

const isLeft = new Promise<void>((resolve) => {
  process.stdin.resume()
  process.stdin.once('close', resolve)
})
// The process that reads the output may already be gone.
process.stdout.on('error', () => {})

const given = JSON.parse(process.argv[2] ?? '{}') as Record<string, string>
// A durable server needs a real disk.
const isDurable = given['fsync'] === 'on'
const settings = {
  // Data lost in a machine crash does not matter here, and the disk is slow.
  ...(!isDurable && { fsync: 'off', full_page_writes: 'off' }),
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_wal_size: '256MB',
  checkpoint_timeout: '1h',
  autovacuum: 'off',
  jit: 'off',
  max_connections: '200',
  ...given,
}
try {
  const server = await PostgresProcess.start({ settings, below: isDurable ? undefined : roomyMemory() })
  console.log(JSON.stringify({ port: server.port }))
  await isLeft
  await server.stop()
} catch (error) {
  console.log(JSON.stringify({ cause: error instanceof Error ? error.message : String(error) }))
}
process.exit(0)

/**
 * Returns a folder in memory with enough space; undefined if there is none. A database has 300 files. Copying them
 * takes 15 ms in memory and half a second on a busy disk.
 */
function roomyMemory(): string | undefined {
  const memory = process.env['ERRAND_TESTS_MEMORY'] ?? '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > bytesNeeded && freemem() > 2 * bytesNeeded ? memory : undefined
  } catch {
    return undefined
  }
}
