import { ServerResponse } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { RawConnection, rawRequest } from '../support/raw-http.ts'
import { startService } from '../support/test-service.ts'

// Expensive work for concurrent requests must not add up to one long block of the event loop.

afterEach(() => void vi.restoreAllMocks())

/** Counts the ticks of the event loop. */
function countTurns(): { now: number; stop: () => void } {
  const turns = { now: 0, stop: () => clearImmediate(next) }
  const count = () => {
    turns.now++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  return turns
}

test('parses simultaneous large bodies in separate event-loop ticks', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const lines = [`Authorization: Bearer ${key}`, 'Content-Type: application/json']
  const body = JSON.stringify({ endpointId: 'no.such', params: { text: 'x'.repeat(100_000) } })
  const bytes = rawRequest('POST /api/tasks', lines, body)
  const connections = await Promise.all(Array.from({ length: 6 }, () => RawConnection.open(service.url)))
  const turns = countTurns()
  const parsedIn: number[] = []
  const { parse } = JSON
  vi.spyOn(JSON, 'parse').mockImplementation((text: string, reviver) => {
    if (text === body) parsedIn.push(turns.now)
    return parse(text, reviver)
  })
  await Promise.all(connections.map((connection) => connection.send(bytes)))
  const answers = await Promise.all(connections.map((connection) => connection.readAnswer()))
  turns.stop()
  expect(answers.map((answer) => answer?.status)).toEqual(Array(6).fill(404))
  expect(parsedIn).toHaveLength(6)
  expect(new Set(parsedIn).size, `turns ${parsedIn.join(', ')}`).toBe(6)
  for (const connection of connections) connection[Symbol.dispose]()
  await service.stop()
})

test('runs calls of simultaneous batches in separate event-loop ticks', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const { store } = service.app
  const turns = countTurns()
  const readIn: number[] = []
  const list = store.listTasks.bind(store)
  vi.spyOn(store, 'listTasks').mockImplementation((of) => {
    readIn.push(turns.now)
    return list(of)
  })
  const input = encodeURIComponent(JSON.stringify({ 0: { json: {} }, 1: { json: {} }, 2: { json: {} } }))
  const path = `/trpc/tasks.list,tasks.list,tasks.list?batch=1&input=${input}`
  const answers = await Promise.all(Array.from({ length: 3 }, () => service.get(path, key)))
  turns.stop()
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(readIn).toHaveLength(9)
  expect(new Set(readIn).size, `turns ${readIn.join(', ')}`).toBe(9)
  await service.stop()
})

test('sends a large page in chunks, at most one per event-loop tick', async () => {
  const service = await startService()
  const turns = countTurns()
  const written: { bytes: number; turn: number }[] = []
  for (const method of ['write', 'end'] as const) {
    const own = ServerResponse.prototype[method] as (this: ServerResponse, ...args: unknown[]) => never
    vi.spyOn(ServerResponse.prototype, method).mockImplementation(function (this: ServerResponse, ...args: unknown[]) {
      if (Buffer.isBuffer(args[0])) written.push({ bytes: args[0].length, turn: turns.now })
      return own.apply(this, args)
    })
  }
  using connection = await RawConnection.open(service.url)
  await connection.send(rawRequest('GET /docs/swagger-ui-bundle.js', []))
  const answer = await connection.readAnswer()
  turns.stop()
  const bytes = Number(answer?.headers.get('content-length'))
  expect(bytes).toBeGreaterThan(1_000_000)
  expect(Buffer.byteLength(answer?.body)).toBe(bytes)
  expect(written.reduce((sum, one) => sum + one.bytes, 0)).toBe(bytes)
  expect(Math.max(...written.map((one) => one.bytes))).toBeLessThanOrEqual(65_536)
  expect(new Set(written.map(({ turn }) => turn)).size).toBe(written.length)
  await service.stop()
})
