import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { openAccount, ProcessClient } from '../../runner/process-client.ts'
import { withRaw } from '../../store/sqlite-engine.ts'
import { temporaryFolder } from '../../support/resources.ts'
import { testNeeding } from '../../support/test-needing.ts'
import { runErrand, startProcess } from '../../support/test-process.ts'
import { root } from '../guide-shell.ts'
import { installTools } from '../install-tools.ts'

const text = 'x'.repeat(12_000)
const env = { ERRAND_EXECUTIONS_PER_MINUTE: '0' }
/** Litestream copies the log every second. */
const copiedMs = 3000
const testMsMax = 200_000

const other = process.platform === 'linux' && process.arch === 'x64' ? undefined : 'the binary is for Linux on x64'

testNeeding('litestream', other)(
  'Litestream restores the database of a busy server to a point in time, and errand restore accepts it',
  async () => {
    const binary = join(await installTools('litestream'), '@flydotio/litestream-linux-x64/litestream')
    const folder = temporaryFolder('litestream')
    const dataDir = join(folder, 'data')
    const config = join(folder, 'litestream.yml')
    const named = readFileSync(join(root, 'deploy/litestream.yml'), 'utf8')
    writeFileSync(
      config,
      named.replace('/var/lib/errand-litestream', join(folder, 'replica')).replace('/var/lib/errand/', `${dataDir}/`),
    )
    const { key } = await openAccount(dataDir)
    const server = await startProcess({ dataDir, env })
    const litestream = spawn(binary, ['replicate', '-config', config], { stdio: ['ignore', 'pipe', 'pipe'] })
    let log = ''
    for (const stream of [litestream.stdout, litestream.stderr])
      stream.on('data', (chunk: Buffer) => (log += chunk.toString()))
    const client = new ProcessClient(server.url, key)
    const load = async (ms: number): Promise<string[]> => {
      const until = Date.now() + ms
      const ids: string[] = []
      while (Date.now() < until) {
        const { body, status } = await client.createTask('test.echo', { text })
        expect(status).toBe(200)
        ids.push(body.taskId)
      }
      return ids
    }
    const early = (await Promise.all([load(8000), load(8000), load(8000), load(8000)])).flat()
    const large = await client.runTask('test.echo', { text: text.repeat(2) })
    await delay(copiedMs)
    const cut = new Date()
    await delay(copiedMs)
    const late = (await Promise.all([load(3000), load(3000)])).flat()
    await delay(copiedMs)
    const walBytes = readFileSync(join(dataDir, 'errand.db-wal')).length
    expect(await server.end('SIGKILL')).toBe(null)
    const exited = once(litestream, 'exit')
    litestream.kill('SIGTERM')
    await exited
    console.log(`${early.length} tasks before, ${late.length} after, WAL of ${Math.round(walBytes / 1024)} KB`)
    expect(log).toContain('snapshot written')
    expect(log).not.toMatch(/error/i)

    const restoreAs = async (name: string, ...more: string[]): Promise<string[]> => {
      const file = join(folder, name)
      await promisify(execFile)(binary, ['restore', '-config', config, '-o', file, ...more, join(dataDir, 'errand.db')])
      symlinkSync(join(dataDir, 'payloads'), `${file}.payloads`)
      const target = join(folder, `of-${name}`)
      mkdirSync(target)
      cpSync(join(dataDir, 'secret'), join(target, 'secret'))
      const restored = JSON.parse(await runErrand(['restore', file, '--data', target, '--json']))
      expect(restored).toMatchObject({ secretMatches: true, missingPayloads: [] })
      return withRaw(target, (raw) => raw.prepare<[], string>('SELECT id FROM tasks ORDER BY seq').pluck().all())
    }
    const atCut = await restoreAs('cut.db', '-timestamp', cut.toISOString())
    expect(atCut.toSorted()).toEqual([...early, large.id].toSorted())
    const all = await restoreAs('all.db')
    expect(all.toSorted()).toEqual([...early, large.id, ...late].toSorted())

    const again = await startProcess({ dataDir: join(folder, 'of-cut.db'), env })
    const reader = new ProcessClient(again.url, key)
    const { body } = await reader.get(`/api/tasks/${large.id}`)
    expect(await (await fetch(body.responseUri)).json()).toEqual({ text: text.repeat(2) })
    expect(await again.end('SIGTERM')).toBe(0)

    const replace = ['restore', join(folder, 'cut.db'), '--data', dataDir, '--replace']
    await expect(runErrand(replace)).rejects.toThrow(/Stop Litestream and delete this folder first\./)
    expect(existsSync(join(dataDir, '.errand.db-litestream'))).toBe(true)
    rmSync(join(dataDir, '.errand.db-litestream'), { recursive: true })
    expect(await runErrand(replace)).toContain('The ledger is consistent.')
  },
  testMsMax,
)
