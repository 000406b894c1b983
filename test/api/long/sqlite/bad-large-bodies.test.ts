import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, expect, test } from 'vitest'
import {
  expectErrorBody,
  expectRefused,
  expectRpcRefused,
  RawConnection,
  shareService,
} from '../../../support/raw-http.ts'
import type { Answer } from '../../../support/test-service.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const guarded = shareService()
const valuesMax = 250_000
const megabyte = 1024 * 1024
const largest = 10 * megabyte
const piece = Buffer.alloc(60_000, ' ')
/** Memory allowance for other work in the process. */
const room = 8 * megabyte

/**
 * Returns a body that the service counts as this many values: one plus the commas and opening brackets outside of
 * strings.
 */
function taskOf(values: number): { endpointId: string; params: object } {
  return { endpointId: 'test.free', params: { items: Array.from({ length: values - 5 }, () => 0), end: '"[,{\\' } }
}

test('accepts a body of 250,000 values and rejects one with more over REST and RPC', async () => {
  const { person, service } = guarded
  const expected = { status: 400, field: '', message: /more than 250000 values/ }
  const over = taskOf(valuesMax + 1)
  await expectRefused(guarded, expected, () => service.post('/api/tasks', over, { key: person.key }))
  await expectRpcRefused(guarded, expected, () =>
    service.post('/trpc/tasks.create', { json: over }, { key: person.key }),
  )
  const { key } = await service.createPerson()
  const taken = await service.post('/api/tasks', taskOf(valuesMax), { key })
  expect(taken.status, JSON.stringify(taken.body).slice(0, 200)).toBe(200)
  expect((await service.get(`/api/tasks/${taken.body.taskId}?wait=20`, key)).body.status).toBe('completed')
})

test('accepts property names of 16,000 bytes and rejects longer ones over REST and RPC', async () => {
  const { person, service } = guarded
  const expected = { status: 400, field: '', message: /a property name of more than 16000 bytes/ }
  const named = (chars: number) => ({ endpointId: 'test.free', params: { ['x'.repeat(chars)]: 1 } })
  await expectRefused(guarded, expected, () => service.post('/api/tasks', named(16_001), { key: person.key }))
  await expectRpcRefused(guarded, expected, () =>
    service.post('/trpc/tasks.create', { json: named(16_001) }, { key: person.key }),
  )
  const { key } = await service.createPerson()
  expect((await service.post('/api/tasks', named(16_000), { key })).status).toBe(200)
})

test('a long string counts as one value, regardless of its content', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  const text = ',[{"\\'.repeat(200_000)
  const answer = await service.post('/api/tasks', { endpointId: 'test.free', params: { text } }, { key })
  expect(answer.status).toBe(200)
  expect((await service.get(`/api/tasks/${answer.body.taskId}?wait=20`, key)).body.status).toBe('completed')
})

test('accepts a body with 50,000 distinct names and rejects one with more over REST and RPC', async () => {
  const { person, service } = guarded
  const named = (names: number) => {
    // The body has three names besides those in the params.
    const params = Object.fromEntries(Array.from({ length: names - 3 }, (_, at) => [`name${at}`, ':']))
    return { endpointId: 'test.free', params, end: '":,' }
  }
  const expected = { status: 400, field: '', message: /more than 50000 different names/ }
  await expectRefused(guarded, expected, () => service.post('/api/tasks', named(50_001), { key: person.key }))
  await expectRpcRefused(guarded, expected, () =>
    service.post('/trpc/tasks.create', { json: named(50_000) }, { key: person.key }),
  )
  const { key } = await service.createPerson()
  const taken = await service.post('/api/tasks', named(50_000), { key })
  expect(taken.status).toBe(200)
  expect((await service.get(`/api/tasks/${taken.body.taskId}?wait=20`, key)).body.status).toBe('completed')
})

test('repeated names count once, no matter how many rows use them', async () => {
  const { person, service } = guarded
  const row = Object.fromEntries(Array.from('abcdefghijk', (name, at) => [name, at]))
  const table = (rows: number) => ({ endpointId: 'test.free', params: { rows: Array(rows).fill(row) } })
  const { key } = await service.createPerson()
  const taken = await service.post('/api/tasks', table(20_000), { key })
  expect(taken.status).toBe(200)
  expect((await service.get(`/api/tasks/${taken.body.taskId}?wait=20`, key)).body.status).toBe('completed')
  const tooMany = { status: 400, field: '', message: /more than 250000 values/ }
  await expectRefused(guarded, tooMany, () => service.post('/api/tasks', table(21_000), { key: person.key }))
  // The service rejects invalid JSON without a long parse, too.
  for (const text of ['"a":', `"${'a'.repeat(1000)}":`, ':']) {
    const sent = text.repeat(Math.floor(5_000_000 / text.length))
    const status = { status: 400, field: '' }
    await expectRefused(guarded, status, () => service.post('/api/tasks', `{${sent}}`, { key: person.key }))
  }
})

test('rejects a large body that is nested too deeply before parsing it', async () => {
  const { person, service } = guarded
  const deep = `{"endpointId":"test.free","params":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`
  const expected = { status: 400, field: '', message: /more than 100 levels of nesting/ }
  await expectRefused(guarded, expected, () => service.post('/api/tasks', deep, { key: person.key }))
  const wrapped = `{"json":${deep}}`
  await expectRpcRefused(guarded, expected, () => service.post('/trpc/tasks.create', wrapped, { key: person.key }))
})

/** The endpoint is unknown, so the service reads the whole body and then responds with 404. */
const body = JSON.stringify({ endpointId: 'test.nope', params: {} })

function head(key: string, bytes: number): string {
  const lines = ['POST /api/tasks HTTP/1.1', 'Host: test', `Authorization: Bearer ${key}`]
  return [...lines, 'Content-Type: application/json', `Content-Length: ${bytes}`, '', ''].join('\r\n')
}

/** Starts a maximum-size body and sends this many of its bytes. The test sends the rest later or never. */
async function upload(key: string, bytes: number): Promise<RawConnection> {
  const connection = await RawConnection.open(guarded.service.url)
  await connection.send(head(key, largest) + body + ' '.repeat(Math.max(0, bytes - body.length)))
  return connection
}

async function answerTo(key: string, bytes: number): Promise<Answer | undefined> {
  using connection = await RawConnection.open(guarded.service.url)
  await connection.send(head(key, bytes) + body + ' '.repeat(bytes - body.length))
  return await connection.readAnswer()
}

/** Polls, because the service may receive the bytes a moment later. */
async function becomes(status: number, key: string, bytes: number): Promise<Answer> {
  let answer: Answer | undefined
  await expect.poll(async () => (answer = await answerTo(key, bytes))?.status).toBe(status)
  return answer!
}

/** Closes all uploads and waits until the service has released the user's memory. */
async function close(uploads: RawConnection[], key: string): Promise<void> {
  for (const connection of uploads) connection[Symbol.dispose]()
  const most = Array.from({ length: 4 }, () => largest)
  const all404 = most.map(() => 404)
  await expect.poll(() => Promise.all(most.map(async (bytes) => (await answerTo(key, bytes))?.status))).toEqual(all404)
}

test('an announced body that never arrives reserves no memory', async () => {
  const { service } = guarded
  const silent = await service.createPerson()
  const uploads: RawConnection[] = []
  for (let count = 0; count < 20; count++) {
    const connection = await RawConnection.open(service.url)
    uploads.push(connection)
    await connection.send(head(silent.key, largest))
  }
  const other = await service.createPerson()
  for (const { key } of [silent, other]) {
    expect((await answerTo(key, largest))?.status).toBe(404)
    expect((await answerTo(key, 1000))?.status).toBe(404)
  }
  for (const connection of uploads) connection[Symbol.dispose]()
})

test('a user can upload four maximum-size bodies at a time without affecting other users', async () => {
  const { service } = guarded
  const [busy, other] = [await service.createPerson(), await service.createPerson()]
  const uploads: RawConnection[] = []
  for (let count = 0; count < 4; count++) uploads.push(await upload(busy.key, largest - 1))
  const refused = await becomes(503, busy.key, largest)
  expectErrorBody(refused, { status: 503, error: 'Service unavailable', message: /Too many of your requests/ })
  expect(refused.headers.get('retry-after')).toBe('1')
  expect((await answerTo(busy.key, 1000))?.status).toBe(404)
  // Two other users can each send a maximum-size body at the same time.
  const others = [other, await service.createPerson()]
  const theirs = await Promise.all(others.map(({ key }) => upload(key, largest - 1)))
  for (const connection of theirs) {
    await connection.send(' ')
    expect((await connection.readAnswer())?.status).toBe(404)
    connection[Symbol.dispose]()
  }
  uploads.pop()![Symbol.dispose]()
  await becomes(404, busy.key, largest)
  await uploads[0]!.send(' ')
  expect((await uploads[0]!.readAnswer())?.status).toBe(404)
  await close(uploads, busy.key)
})

test("a user's concurrent uploads stay within the memory share, which is then released", async () => {
  const { service } = guarded
  const busy = await service.createPerson()
  const held = () => {
    collectGarbage()
    return process.memoryUsage().external
  }
  const before = held()
  const uploads = await Promise.all(Array.from({ length: 10 }, () => RawConnection.open(service.url)))
  for (const connection of uploads) await connection.send(head(busy.key, largest) + body)
  // Sends all uploads chunk by chunk at the same pace.
  for (let sent = 0; sent < 4.2 * megabyte; sent += piece.length) {
    await Promise.all(uploads.map((connection) => connection.send(piece)))
  }
  const refused = await becomes(503, busy.key, largest)
  expectErrorBody(refused, { status: 503, error: 'Service unavailable', message: /Too many of your requests/ })
  // The service releases the memory of rejected requests, but not yet of stalled ones.
  await expect.poll(() => held() - before).toBeLessThan(48 * megabyte + room)
  await close(uploads, busy.key)
  await expect.poll(() => held() - before).toBeLessThan(room)
})

test("small bodies that arrive in parts also count toward their user's memory share", async () => {
  const { service } = guarded
  const [busy, other] = [await service.createPerson(), await service.createPerson()]
  const uploads: RawConnection[] = []
  const part = 60_000
  for (let bytes = 0; bytes + part <= 24 * megabyte; bytes += part) uploads.push(await upload(busy.key, part))
  await becomes(503, busy.key, 300_000)
  expect((await answerTo(busy.key, 1000))?.status).toBe(404)
  expect((await answerTo(other.key, largest))?.status).toBe(404)
  await close(uploads, busy.key)
})

let latest: Socket | undefined
const onRequest = (given: unknown) => (latest = (given as { request: IncomingMessage }).request.socket)
const requestStart = 'http.server.request.start'
subscribe(requestStart, onRequest)
afterAll(() => void unsubscribe(requestStart, onRequest))

/** Uploads this many bytes and waits until the service has read all of them. */
async function uploadAll(key: string, bytes: number): Promise<RawConnection> {
  const connection = await upload(key, bytes)
  await expect.poll(() => latest?.bytesRead).toBeGreaterThanOrEqual(bytes)
  return connection
}

/**
 * Creates accounts without a balance. Each uploads as much as a user may, and later a little more from time to time.
 */
async function hoard(accounts: number[][]): Promise<{ key: string; uploads: RawConnection[] }[]> {
  const hoards = []
  for (const sizes of accounts) {
    const { key } = await guarded.service.createPerson({ balanceUsd: '0.0000' })
    const uploads: RawConnection[] = []
    for (const bytes of sizes) uploads.push(await uploadAll(key, bytes))
    hoards.push({ key, uploads })
  }
  return hoards
}

const half = [largest - 1, largest - 1, largest - 1, largest - 1, 7 * megabyte]
const eighth = [largest - 1, megabyte]

test('two users with slow uploads leave room for large bodies of other users', async () => {
  const { service } = guarded
  const hoards = await hoard([half, half])
  for (const { key } of await Promise.all([1, 2].map(() => service.createPerson()))) {
    expect((await answerTo(key, largest))?.status).toBe(404)
  }
  await close(
    hoards.flatMap(({ uploads }) => uploads),
    hoards[0]!.key,
  )
})

test('if memory is full, drops only the slowest upload of the user with the most memory', async () => {
  const { service } = guarded
  const hoards = await hoard([half, eighth, eighth, eighth, eighth])
  const isAnswered = ({ received }: RawConnection) => received.length > 0
  for (const { uploads } of hoards) expect(uploads.some(isAnswered)).toBe(false)
  const honest = await service.createPerson()
  expect((await answerTo(honest.key, largest))?.status).toBe(404)
  const [most, ...others] = hoards
  await expect.poll(() => most!.uploads.some(isAnswered)).toBe(true)
  for (const { uploads } of others) expect(uploads.some(isAnswered)).toBe(false)
  const refused = await most!.uploads.find(isAnswered)!.readAnswer()
  expectErrorBody(refused, { status: 503, error: 'Service unavailable', message: /arrived too slowly/ })
  expect(refused!.headers.get('retry-after')).toBe('1')
  // The upload that was not rejected continues.
  const going = most!.uploads.slice(0, 4).findLast((connection) => !isAnswered(connection))!
  await going.send(' ')
  expect((await going.readAnswer())?.status).toBe(404)
  await close(
    hoards.flatMap(({ uploads }) => uploads),
    hoards[0]!.key,
  )
})
