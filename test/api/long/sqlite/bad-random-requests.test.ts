import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import {
  expectErrorBody,
  expectUnchanged,
  RawConnection,
  rawRequest,
  sendRaw,
  shareService,
} from '../../../support/raw-http.ts'
import type { Answer, Person } from '../../../support/test-service.ts'

// Any bytes must get a regular rejection, change no data, and leave the service running. A failure prints its seed;
// repeat it with `fc.assert(…, { seed, path })`.

const guarded = shareService()
/** A user without a balance, so that even a valid request is rejected. */
let poor: Person

beforeAll(async () => {
  poor = await guarded.service.createPerson({ balanceUsd: '0' })
})

const runs = { numRuns: 150 }
const authorization = () => `Authorization: Bearer ${poor.key}`
const post = (path: string, body: string | Buffer) =>
  sendRaw(guarded.service.url, rawRequest(`POST ${path}`, [authorization(), 'Content-Type: application/json'], body))

async function always(arbitrary: fc.Arbitrary<unknown>, check: (value: any) => Promise<void>): Promise<void> {
  await expectUnchanged({ service: guarded.service, person: poor }, () =>
    fc.assert(fc.asyncProperty(arbitrary, check), runs),
  )
}

function expectRefusal(answer: Answer | undefined, statuses: readonly number[]): void {
  expect(statuses).toContain(answer?.status)
  expectErrorBody(answer, { status: answer!.status, ...(answer!.status === 403 && { error: 'Insufficient balance' }) })
}

function expectRpcRefusal(answer: Answer | undefined, statuses: readonly number[]): void {
  expect(statuses, JSON.stringify(answer?.body).slice(0, 300)).toContain(answer?.status)
  expect(answer!.body.error.json.data.httpStatus).toBe(answer!.status)
}

test('returns 400 for random bytes as a body', async () => {
  await always(fc.uint8Array({ maxLength: 300 }), async (bytes: Uint8Array) => {
    expectRefusal(await post('/api/tasks', Buffer.from(bytes)), [400])
    expectRpcRefusal(await post('/trpc/tasks.create', Buffer.from(bytes)), [400])
  })
})

test('returns 400 for a random string as a body', async () => {
  await always(fc.string({ unit: 'binary', maxLength: 300 }), async (text: string) => {
    expectRefusal(await post('/api/tasks', text), [400])
  })
})

test('returns 400 for random JSON as a body', async () => {
  await always(fc.json({ maxDepth: 6, stringUnit: 'binary' }), async (text: string) => {
    expectRefusal(await post('/api/tasks', text), [400])
    expectRefusal(await post('/api/keys', text), [400])
    expectRpcRefusal(await post('/trpc/tasks.create', text), [400])
    expectRpcRefusal(await post('/trpc/tasks.create', `{"json":${text}}`), [400])
  })
})

const oddValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('', 'x', 0, -1, 1e308, null, [], {}, true, '\0', '__proto__', 'test.echo', 'a'.repeat(300)),
)

test('rejects random values in task fields', async () => {
  const fields = fc.record(
    { endpointId: oddValue, params: oddValue, connectorIds: oddValue, costUsd: oddValue },
    { requiredKeys: [] },
  )
  await always(fields, async (body: unknown) => {
    expectRefusal(await post('/api/tasks', JSON.stringify(body)), [400, 403, 404])
  })
})

test('rejects random params as invalid or for insufficient balance', async () => {
  const params = fc.dictionary(
    fc.oneof(fc.constantFrom('text', 'count', 'name', 'times'), fc.string()).filter((name) => name !== '__proto__'),
    fc.oneof(oddValue, fc.string(), fc.integer()),
  )
  await always(params, async (value: unknown) => {
    for (const endpointId of ['test.typed', 'test.schema', 'test.echo']) {
      expectRefusal(await post('/api/tasks', JSON.stringify({ endpointId, params: value })), [400, 403])
    }
  })
})

test('rejects or ignores random `meta` in the typed RPC envelope', async () => {
  const likely = fc.constantFrom('params.a', 'params.b', 'params.b.0')
  const path = fc.oneof(
    { weight: 5, arbitrary: likely },
    fc.constantFrom('params', 'endpointId', '', '__proto__.x', 'a\\'),
  )
  const type = fc.oneof(
    fc.constantFrom('undefined', 'bigint', 'Date', 'number', 'set', 'map', 'regexp', 'URL', 'Error', 'x', 'toString'),
    fc.tuple(
      fc.constantFrom('symbol', 'class', 'custom', 'typed-array', 'x'),
      fc.constantFrom('Uint8Array', 'x', 'name'),
    ),
  )
  const meta = fc.record(
    {
      values: fc.oneof(
        { weight: 8, arbitrary: fc.dictionary(path, fc.tuple(type), { maxKeys: 2 }) },
        fc.tuple(type),
        fc.jsonValue({ maxDepth: 3 }),
      ),
      referentialEqualities: fc.oneof(
        { weight: 4, arbitrary: fc.dictionary(path, fc.array(path, { maxLength: 3 }), { maxKeys: 2 }) },
        fc.jsonValue({ maxDepth: 3 }),
      ),
      v: fc.constantFrom(0, 1, 2, 'x'),
    },
    { requiredKeys: [] },
  )
  const value = fc.oneof(oddValue, fc.constantFrom<unknown>('12', '/a/', 'NaN', 'https://a', [[1, 2]], 3, { c: 1 }))
  await always(fc.tuple(meta, value, value), async ([note, a, b]: [unknown, unknown, unknown]) => {
    const body = JSON.stringify({ json: { endpointId: 'test.echo', params: { a, b } }, meta: note })
    expectRpcRefusal(await post('/trpc/tasks.create', body), [400, 403, 404])
  })
})

const visible = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)) })

test('random query strings never cause a server error', async () => {
  const pair = fc.tuple(
    fc.constantFrom('limit', 'offset', 'status', 'agentId', 'wait', 'input', 'batch', '__proto__'),
    visible,
  )
  const query = fc.oneof(
    visible,
    fc.array(pair, { maxLength: 5 }).map((pairs) => pairs.map(([name, value]) => `${name}=${value}`).join('&')),
  )
  await always(query, async (text: string) => {
    for (const path of [
      '/api/tasks',
      '/api/tasks/task_1',
      '/api/transactions',
      '/api/payloads/pay_1',
      '/trpc/tasks.list',
    ]) {
      const answer = await sendRaw(guarded.service.url, rawRequest(`GET ${path}?${text}`, [authorization()]))
      expect([200, 400, 403, 404], text).toContain(answer?.status)
    }
  })
})

test('random paths never cause a server error', async () => {
  const start = fc.constantFrom(
    '/',
    '/api/',
    '/api/tasks/',
    '/api/keys/',
    '/api/payloads/',
    '/trpc/',
    '/docs/',
    'http://a/',
  )
  await always(fc.tuple(start, visible), async ([prefix, text]: [string, string]) => {
    for (const method of ['GET', 'DELETE', 'PATCH']) {
      const answer = await sendRaw(guarded.service.url, rawRequest(`${method} ${prefix}${text}`, [authorization()]))
      expect(answer!.status, text).toBeLessThan(500)
    }
  })
})

test('returns 401 for random credentials, or 400 for invalid HTTP', async () => {
  await always(fc.string({ unit: 'binary', maxLength: 100 }), async (text: string) => {
    for (const value of [text, `Bearer ${text}`, `Bearer errand_sk_${text}`]) {
      const line = `Authorization: ${value.replaceAll(/[\r\n]/g, '')}`
      expectRefusal(await sendRaw(guarded.service.url, rawRequest('GET /api/account', [line])), [400, 401])
    }
  })
})

test('a valid request with randomly changed bytes never causes a server error', async () => {
  const change = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) })
  await always(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes: { at: number; byte: number }[]) => {
    const body = '{"endpointId":"test.echo","params":{"a":"é"}}'
    const bytes = rawRequest('POST /api/tasks', [authorization(), 'Content-Type: application/json'], body)
    for (const { at, byte } of changes) bytes[at % bytes.length] = byte
    using connection = await RawConnection.open(guarded.service.url)
    await connection.send(bytes)
    // Closes the sending side. Otherwise the server would wait if the announced length is too high.
    connection.finishSending()
    const answer = await connection.readAnswer()
    // The server sends no response if the bytes end before the request is complete.
    expect(answer?.status ?? 400).toBeLessThan(500)
  })
})
