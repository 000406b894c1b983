import { statfsSync } from 'node:fs'
import { freemem } from 'node:os'
import { PostgresProcess } from './postgres-process.ts'

// A process that runs a PostgreSQL server for another, until that one closes its end of the pipe or is gone, however it
// went: then the server is stopped and its folder removed. Its argument is the settings of the server, as JSON. Answers one
// line of JSON.

const bytesNeeded = 2_000_000_000

const isLeft = new Promise<void>((resolve) => {
  process.stdin.resume()
  process.stdin.once('close', resolve)
})
// Whom it answers may be gone already.
process.stdout.on('error', () => {})

const given = JSON.parse(process.argv[2] ?? '{}') as Record<string, string>
// Who wants commits to be synced wants a disk.
const isDurable = given['fsync'] === 'on'
const settings = {
  // What a crash of the machine would lose is of no interest here, and the disk is slow.
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

/** A database is 300 files, which a busy disk takes half a second to copy, and memory 15 ms. */
function roomyMemory(): string | undefined {
  const memory = process.env['ERRAND_TESTS_MEMORY'] ?? '/dev/shm'
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > bytesNeeded && freemem() > 2 * bytesNeeded ? memory : undefined
  } catch {
    return undefined
  }
}
