import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { must } from '../../../server/kernel/assert.ts'
import { freePort } from '../../support/free-port.ts'
import { temporaryFolder } from '../../support/resources.ts'
import { missingCommand, testNeeding } from '../../support/test-needing.ts'
import type { TestPart } from '../../support/test-parts.ts'
import { startService } from '../../support/test-service.ts'
import { until, waitMsMax } from '../../support/until.ts'

// Runs the guide's receivers unchanged, and sends them real and forged events.

const root = fileURLToPath(new URL('../../../', import.meta.url))
const guide = readFileSync(join(root, 'docs/guides/webhooks.md'), 'utf8')

const programs: [TestPart | undefined, { language: string; file: string; command: string }][] = [
  [undefined, { language: 'ts', file: 'receiver.ts', command: process.execPath }],
  ['python', { language: 'python', file: 'receiver.py', command: 'python3' }],
]

function programOf(language: string): string {
  const blocks = Array.from(guide.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)).filter(([, own]) => own === language)
  return must(blocks.at(-1)?.[2], `the guide has a program in ${language}`)
}

/** Creates a project with that program, in which the client can be imported by name. */
function projectOf(file: string, text: string): string {
  const cwd = temporaryFolder('receiver')
  mkdirSync(join(cwd, 'node_modules/errand-client'), { recursive: true })
  const exports = { './webhooks': './client/webhooks.ts' }
  const manifest = JSON.stringify({ name: 'errand-client', type: 'module', exports })
  writeFileSync(join(cwd, 'node_modules/errand-client/package.json'), manifest)
  symlinkSync(join(root, 'client'), join(cwd, 'node_modules/errand-client/client'))
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}')
  writeFileSync(join(cwd, file), text)
  return cwd
}

for (const [part, { command, file, language }] of programs) {
  const run = part ? testNeeding(part, missingCommand(command, '--version')) : test
  run(`the ${language} receiver prints each event once and rejects a forged one`, async () => {
    const port = await freePort()
    const service = await startService({ privateHosts: ['127.0.0.1'] })
    const { key } = await service.createPerson()
    const created = await service.post('/api/webhooks', { url: `http://127.0.0.1:${port}/errand` }, { key })
    const cwd = projectOf(file, programOf(language))
    const env = { ...process.env, PORT: String(port), ERRAND_WEBHOOK_SECRET: created.body.secret }
    const child = spawn(command, [file], { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
    const lines: string[] = []
    createInterface(child.stdout).on('line', (line) => lines.push(line))
    try {
      await until('it listens', waitMsMax, () => lines.includes('listening'))
      const completed = await service.runTask(key, 'test.echo', {})
      const failed = await service.runTask(key, 'test.fail', {})
      await until('both came', waitMsMax, () => lines.length >= 3)
      const printed = lines
        .slice(1)
        .map((line) => [line.split(' ')[0], JSON.parse(line.slice(line.indexOf(' '))).taskId])
      expect(printed.toSorted()).toEqual([
        ['task.completed', completed.id],
        ['task.failed', failed.id],
      ])
      const headers = {
        'webhook-id': 'evt_1',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
      }
      const forged = await fetch(`http://127.0.0.1:${port}/errand`, {
        method: 'POST',
        headers,
        body: '{"type":"forged","data":{}}',
      })
      expect(forged.status).toBe(400)
      // Resent events are not printed again.
      const of = `/api/webhooks/${created.body.id}/deliveries`
      const { deliveries } = (await service.get(of, key)).body
      for (const { eventId } of deliveries) await service.post(`${of}/${eventId}/redeliver`, {}, { key })
      const states = async () =>
        (await service.get(of, key)).body.deliveries.map(({ status }: { status: string }) => status)
      await until('they came again', waitMsMax, async () =>
        (await states()).every((status: string) => status === 'succeeded'),
      )
      expect(lines).toHaveLength(3)
    } finally {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      await service.stop()
    }
  })
}
