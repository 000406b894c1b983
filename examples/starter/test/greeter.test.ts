import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { createClient } from 'errand-client'

test('a greeting is charged, and what is refused is not', { timeout: 60_000 }, async (t) => {
  const { key, url } = await startErrand(t)
  const errand = createClient({ baseUrl: url, apiKey: key })
  const before = await errand.account.get()

  const task = await errand.tasks.run({ endpointId: 'hello.greet', params: { name: 'Ada' } })
  assert.deepEqual([task.status, task.response], ['completed', { greeting: 'Hello, Ada!' }])

  await assert.rejects(errand.tasks.run({ endpointId: 'hello.greet', params: { name: '' } }), /name/)

  const after = await errand.account.get()
  assert.equal((Number(before.balanceUsd) - Number(after.balanceUsd)).toFixed(4), '0.0100')
})

/** Serves errand.config.ts on a free port with a new user, until the test ends. */
async function startErrand(t: { after: (clean: () => Promise<void>) => void }): Promise<{ url: string; key: string }> {
  const data = await mkdtemp(join(tmpdir(), 'errand-'))
  const server = spawn('errand', ['demo', '--json', '--port', '0', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(async () => {
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    await ended
    await rm(data, { recursive: true })
  })
  const [line] = (await once(createInterface(server.stdout), 'line')) as [string]
  return JSON.parse(line) as { url: string; key: string }
}
