import { spawn } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { missingCommand, testNeeding } from '../../support/test-needing.ts'
import { newDataDir } from '../../support/test-service.ts'
import { openAccount, ProcessClient } from '../process-client.ts'
import { rogueFile, signalFiles, untilBegun } from '../task-checks.ts'

const main = fileURLToPath(new URL('../../../server/main.ts', import.meta.url))
// Runs a traced command, because strace may be installed but forbidden, as in some containers.
const missing = missingCommand('strace', '-o', '/dev/null', 'true')
const created = 20

/** Serves under strace, which logs the main thread's reads, writes and syncs with their files. */
async function startTraced(dataDir: string, trace: string) {
  const calls = 'trace=read,write,writev,fsync,fdatasync'
  const serveArgs = [main, 'serve', '--data', dataDir, '--config', rogueFile, '--port', '0', '--json']
  const child = spawn('strace', ['-y', '-s', '80', '-e', calls, '-o', trace, process.execPath, ...serveArgs], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { ...process.env, ERRAND_EXECUTIONS_PER_MINUTE: '0', ERRAND_TASK_CONCURRENCY: '1' },
  })
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()))
    void exited.then((code) => reject(new Error(`the traced server exited with ${String(code)}: ${log}`)))
  })
  const { url } = JSON.parse(line) as { url: string }
  return {
    url,
    stop: async () => {
      // Signals the whole process group, because strace blocks the signal.
      process.kill(-child.pid!, 'SIGTERM')
      await exited
    },
  }
}

testNeeding('strace', missing)('syncs the log before every 200 response to POST /api/tasks', async () => {
  const dataDir = newDataDir()
  const trace = join(dataDir, 'trace')
  const { key } = await openAccount(dataDir)
  const server = await startTraced(dataDir, trace)
  const client = new ProcessClient(server.url, key)
  // One run occupies the only slot, so that only the requests below are written.
  const files = signalFiles(dataDir)
  await client.createTask('rogue.hold', files)
  await untilBegun(files)
  for (let n = 0; n < created; n++) {
    const params = n % 2 === 0 ? { n } : { n, text: 'x'.repeat(20_000) }
    expect((await client.createTask('rogue.echo', params)).status).toBe(200)
  }
  writeFileSync(files.release, '')
  await server.stop()

  let synced = false
  let isOpen = false
  const answers: boolean[] = []
  for (const line of readFileSync(trace, 'utf8').split('\n')) {
    if (/^read\(.*"POST \/api\/tasks /.test(line)) {
      isOpen = true
      synced = false
    } else if (/^(?:fsync|fdatasync)\(\d+<[^>]*\/errand\.db-wal>\)\s+= 0/.test(line)) synced = true
    else if (isOpen && /^writev?\(.*HTTP\/1\.1 200 /.test(line)) {
      answers.push(synced)
      isOpen = false
    }
  }
  expect(answers).toEqual(Array.from({ length: created + 1 }, () => true))
  rmSync(dataDir, { recursive: true })
})
