import { rmSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Logger } from '../../server/kernel/logger.ts'
import rogueAgents from '../runner/rogue-agents.ts'
import { moneyOf, refundedOnce, signalFiles, unlimited, untilBegun } from '../runner/task-checks.ts'
import { storedPayloads } from '../support/stored-payloads.ts'
import { queryRows } from '../support/test-engine.ts'
import { newDataDir, startService, type TestService } from '../support/test-service.ts'

function keepErrors(): { log: Logger; errors: string[] } {
  const errors: string[] = []
  const error: Logger['error'] = (fields, message) => {
    const { err, requestId } = fields as { err?: unknown; requestId?: string }
    errors.push(`${message} ${requestId === undefined ? '' : 'req '}${err instanceof Error ? err.message : ''}`)
  }
  return { errors, log: { debug() {}, info() {}, warn() {}, error } }
}

type Stored = { uri: string; id: string; whole: Buffer; replace: (content: Buffer) => Promise<void> }

async function storeResponse(service: TestService, key: string, chars: number): Promise<Stored> {
  const { responseUri: uri } = await service.runTask(key, 'test.large', { chars })
  const id = /pay_\w+/.exec(uri)![0]
  const stored = storedPayloads(service.dataDir)
  return { uri, id, whole: await stored.read(id), replace: (content) => stored.replace(id, content) }
}

function flippedAt(content: Buffer, at: number): Buffer {
  const flipped = Buffer.from(content)
  flipped[at]! ^= 1
  return flipped
}

test('serves payloads of one or many chunks unchanged and stores their size and SHA-256', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  for (const chars of [20_000, 65_534, 65_536, 65_537, 400_000]) {
    const { id, uri, whole } = await storeResponse(service, key, chars)
    const response = await fetch(uri)
    expect(response.headers.get('content-length')).toBe(String(whole.length))
    expect(await response.text()).toBe(whole.toString())
    const { digest } = (await service.app.store.findPayload(id))!
    expect(digest).toEqual({ bytes: whole.length, sha256: await sha256Of(whole) })
  }
  await service.stop()
})

async function sha256Of(bytes: Buffer): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes))).toString('base64url')
}

test('a damaged small payload returns 500 and logs an error with its id', async () => {
  const { errors, log } = keepErrors()
  const service = await startService({ limits: unlimited, log })
  const { key } = await service.createPerson()
  const changes: ((content: Buffer) => Buffer)[] = [
    (content) => flippedAt(content, 0),
    (content) => flippedAt(content, 10_000),
    (content) => flippedAt(content, content.length - 1),
    (content) => content.subarray(0, 10_000),
    (content) => Buffer.concat([content, Buffer.from(' ')]),
  ]
  for (const change of changes) {
    const stored = await storeResponse(service, key, 20_000)
    expect((await fetch(stored.uri)).status).toBe(200)
    await stored.replace(change(stored.whole))
    errors.length = 0
    const response = await fetch(stored.uri)
    expect(response.status).toBe(500)
    expect(response.headers.get('etag')).toBeNull()
    const body = await response.text()
    expect(JSON.parse(body)).toMatchObject({ error: 'Internal error', statusCode: 500, code: 'INTERNAL_ERROR' })
    expect(body).not.toContain(stored.whole.toString().slice(100, 200))
    expect(errors).toEqual([
      `a request failed req The stored payload ${stored.id} is damaged. Restore it from a backup.`,
    ])
  }
  await service.stop()
})

test('a damaged large payload is cut off before its end, wherever it was changed', async () => {
  const { errors, log } = keepErrors()
  const service = await startService({ limits: unlimited, log })
  const { key } = await service.createPerson()
  const chars = 3_500_000
  for (const at of [0, chars / 2, chars]) {
    const stored = await storeResponse(service, key, chars)
    await stored.replace(flippedAt(stored.whole, at))
    errors.length = 0
    const response = await fetch(stored.uri)
    expect(response.status).toBe(200)
    let bytes = 0
    const readOn = async () => {
      for await (const chunk of response.body!) bytes += chunk.length
    }
    await expect(readOn()).rejects.toThrow()
    expect(bytes).toBeLessThan(stored.whole.length)
    expect(errors).toEqual([
      `a request failed req The stored payload ${stored.id} is damaged. Restore it from a backup.`,
    ])
    const { status } = await fetch(stored.uri, { headers: { 'If-None-Match': response.headers.get('etag')! } })
    expect(status).toBe(304)
    expect((await fetch(stored.uri, { method: 'HEAD' })).status).toBe(200)
  }
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200)
  await service.stop()
})

test('payloads without a digest are still served and passed to agents', async () => {
  const dataDir = newDataDir()
  const first = await startService({ dataDir, limits: { ...unlimited, taskConcurrency: 0 } })
  const { key } = await first.createPerson()
  const text = 'x'.repeat(20_000)
  const { taskId } = (await first.createTask(key, 'test.echo', { text })).body
  await first.stop()
  await queryRows(dataDir, 'UPDATE payloads SET bytes = NULL, sha256 = NULL')
  const second = await startService({ dataDir, limits: unlimited })
  const task = (await second.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(task.status).toBe('completed')
  for (const uri of [task.requestUri, task.responseUri]) {
    const { pathname, search } = new URL(uri)
    expect(await (await fetch(second.url + pathname + search)).json()).toEqual({ text })
  }
  await second.stop()
  rmSync(dataDir, { recursive: true })
})

test('a damaged request never reaches the agent; the task fails and is refunded', async () => {
  const limits = { executionsPerMinute: 0, abuseFailures: 1, taskConcurrency: 1 }
  const { errors, log } = keepErrors()
  const service = await startService({ config: rogueAgents, limits, log })
  const { key } = await service.createPerson()
  const files = signalFiles(service.dataDir)
  await service.createTask(key, 'rogue.hold', files)
  await untilBegun(files)
  const { taskId } = (await service.createTask(key, 'rogue.echo', { text: 'x'.repeat(20_000) })).body
  const { requestUri } = (await service.get(`/api/tasks/${taskId}`, key)).body
  const id = /pay_\w+/.exec(requestUri)![0]
  const stored = storedPayloads(service.dataDir)
  const flipped = flippedAt(await stored.read(id), 10_000)
  await stored.replace(id, flipped)
  // The payload is still valid JSON, but its digest differs.
  expect(JSON.parse(flipped.toString()).text).toContain('xyx')
  writeFileSync(files.release, '')
  const task = (await service.get(`/api/tasks/${taskId}?wait=20`, key)).body
  expect(task).toMatchObject({ status: 'failed', response: null, error: { code: 'AGENT_INTERRUPTED' } })
  expect(await moneyOf(service, key, taskId)).toEqual(refundedOnce)
  expect(errors).toEqual([
    `could not read the stored request of a task The stored payload ${id} is damaged. Restore it from a backup.`,
  ])
  await service.stop()
})
