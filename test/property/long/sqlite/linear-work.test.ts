import { expect, test, vi } from 'vitest'
import { operations, type Json, type Operation } from '../../../pins/documented-answers.ts'
import { rawRequest } from '../../../support/raw-http.ts'
import { hostile, hostileTo, nameAt, times, type Limits } from '../../hostile-values.ts'
import { expectLinearWork } from '../../measured-work.ts'
import { shareWorld } from '../../property-world.ts'
import { bodySchemaOf, jsonType, parametersOf, procedureOf } from '../../request-drafts.ts'

// For each operation, over REST and typed RPC, for users and strangers: processing the content of a field, query or
// header takes time linear in its size, and at its size limit blocks the event loop for less than 100 ms.

const shared = shareWorld()
// Each test sends many requests, which is slow on a busy machine.
vi.setConfig({ testTimeout: 300_000 })
const named = (some: readonly Operation[]) => some.map((operation) => [operation.id, operation] as const)

/** Limits for users and for strangers, who may send 16 KB. */
const ofUsers: Limits = { chars: 10_000_000, values: 249_000, names: 49_000 }
const ofStrangers: Limits = { chars: 15_000, values: 7000, names: 800 }

/** Fields with which each body passes the first checks. */
const fields: Json = { endpointId: 'test.free', params: {}, agentId: 'talk', message: 'x', name: 'x' }

const senderOf = (operation: Operation) => shared.world.sendersOf(operation)[0]!
const filled = ({ path }: Operation) =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(shared.world.ids[name] ?? 'x'))

const withBody = operations.filter((operation) => bodySchemaOf(operation))

/** Field types for which rejected values have already been tested. */
const rejectedTypes = new Set<string>()

/** Limits tests of unknown fields to one operation, because the service does not examine their content. */
const unknownTo = (operation: Operation) => (operation === withBody[0] ? { type: 'object' } : {})

// Runs first, because an export of the account takes longer for each task that the tests below create.
test('processes long query parameters and typed RPC inputs in linear time', async () => {
  const { url } = shared.world.service
  for (const operation of operations) {
    const { lines } = senderOf(operation)
    const queries = [...parametersOf(operation, 'query').map(({ name }) => `${name}=`), '', 'unknown=']
    for (const part of ['a', '%20', 'a=1&', '%25', '0']) {
      const much = (share: number) => part.repeat(times(14_000 / part.length, share))
      for (const query of queries) {
        const make = (share: number) =>
          rawRequest(`${operation.method} ${filled(operation)}?${query}${much(share)}`, lines)
        await expectLinearWork({ what: `${operation.id} ${query} ${part}`, url, make })
      }
    }
    const procedure = procedureOf(operation)
    if (procedure?.type !== 'query') continue
    for (const json of ['[', '{"a":', '[0,', '"a', '{"json":']) {
      const make = (share: number) =>
        rawRequest(`GET /trpc/${procedure.path}?input=${encodeURIComponent(json.repeat(times(1000, share)))}`, lines)
      await expectLinearWork({ what: `${procedure.path} ${json}`, url, make })
    }
  }
})

test.each(named(withBody))('%s processes hostile body fields in linear time', async (_id, operation) => {
  const limits = operation.spec['security'].length === 0 ? ofStrangers : ofUsers
  const schemas: Json = bodySchemaOf(operation)!['properties'] ?? {}
  const properties = Object.keys(schemas)
  const unknown = unknownTo(operation)
  const { lines } = senderOf(operation)
  const start = `${operation.method} ${filled(operation)}`
  for (const field of [...properties, 'unknown']) {
    const rest = Object.fromEntries(
      Object.entries({ ...fields, ...shared.world.ids }).filter(
        ([name]) => properties.includes(name) && name !== field,
      ),
    )
    const { examined, rejected, types } = hostileTo(schemas[field] ?? unknown)
    // Test each type only once, because rejecting a value for its type depends on nothing else.
    const fieldType = `${types} up to ${limits.chars}`
    for (const [what, of] of rejectedTypes.has(fieldType) ? examined : [...examined, ...rejected]) {
      const make = (share: number) => {
        const text = `${JSON.stringify(rest).slice(0, -1)}${Object.keys(rest).length > 0 ? ',' : ''}"${field}":${of(limits, share)}}`
        return rawRequest(start, [...lines, jsonType, `Idempotency-Key: ${Math.random()}`], text)
      }
      await expectLinearWork({ what: `${field} of ${what}`, url: shared.world.service.url, make })
    }
    rejectedTypes.add(fieldType)
  }
})

test.each(['tasks.create', 'login.create'])(
  'processes hostile inputs of %s over typed RPC in linear time, also in a batch',
  async (path) => {
    const { senders, service } = shared.world
    const isPublic = path === 'login.create'
    const { lines } = isPublic ? senders.page : senders.key
    for (const [what, of] of Object.entries(hostile)) {
      for (const query of ['', '?batch=1']) {
        const make = (share: number) => {
          const json = `{"json":{"endpointId":"test.free","params":${of(isPublic ? ofStrangers : ofUsers, share)}}}`
          const sent = query === '' ? json : `{"0":${json}}`
          return rawRequest(`POST /trpc/${path}${query}`, [...lines, jsonType], sent)
        }
        await expectLinearWork({ what: what + query, url: service.url, make })
      }
    }
  },
)

/** Places for a value in an MCP message. */
const messages: Record<string, (value: string) => string> = {
  arguments: (value) => `"id":1,"method":"tools/call","params":{"name":"test_free","arguments":${value}}`,
  _meta: (value) => `"id":1,"method":"tools/call","params":{"name":"test_none","_meta":${value}}`,
  'a canceled id': (value) => `"method":"notifications/cancelled","params":{"requestId":${value}}`,
}

test.each(Object.entries(messages))('processes hostile MCP messages in linear time: %s', async (place, message) => {
  const { senders, service } = shared.world
  for (const [what, of] of Object.entries(hostile)) {
    const make = (share: number) =>
      rawRequest(
        'POST /mcp',
        [...senders.key.lines, jsonType, `Idempotency-Key: ${Math.random()}`],
        `{"jsonrpc":"2.0",${message(of(ofUsers, share))}}`,
      )
    await expectLinearWork({ what: `${place}: ${what}`, url: service.url, make })
  }
})

/** Envelope metadata, by the part of it that is large. */
const notes: Record<string, (chars: number) => string> = {
  'paths that end in a backslash': (chars) => `{"referentialEqualities":{"a":["${'a'.repeat(chars)}\\\\"]},"v":1}`,
  'backslashes in a path': (chars) => `{"referentialEqualities":{"a":["${'\\\\'.repeat(chars / 2)}"]},"v":1}`,
  'paths of many parts': (chars) => `{"values":{"${'a.'.repeat(chars / 2)}":["undefined"]},"v":1}`,
  'many type annotations': (chars) =>
    `{"values":{${Array.from({ length: chars / 30 }, (_, at) => `"params.${nameAt(at)}":["undefined"]`).join(',')}},"v":1}`,
  'many referential equalities': (chars) =>
    `{"referentialEqualities":{"a":[${Array(Math.ceil(chars / 9))
      .fill('"params"')
      .join(',')}]}}`,
  'nested values': (chars) => `{"values":${'{"a":'.repeat(chars / 6)}["undefined"]${'}'.repeat(chars / 6)},"v":1}`,
  'nested lists': (chars) => `{"values":${'['.repeat(chars / 2)}${']'.repeat(chars / 2)},"v":1}`,
  'a tree': (chars) => {
    const deep = 80
    const leaves = Array.from({ length: Math.ceil(chars / 30) }, (_, at) => `"${nameAt(at)}":["undefined"]`).join(',')
    return `{"values":${'{"a":'.repeat(deep)}{${leaves}}${'}'.repeat(deep)},"v":1}`
  },
}

test.each(Object.entries(notes))('processes an RPC envelope with %s in linear time', async (_what, of) => {
  const { senders, service } = shared.world
  const { url } = service
  const json = '{"endpointId":"test.free","params":{},"email":"x","password":"x"}'
  const reader = await service.createKey(shared.world.person.userId, ['read'])
  for (const [path, lines, chars] of [
    ['login.create', senders.page.lines, 15_000],
    ['tasks.create', senders.key.lines, 60_000],
    ['tasks.create', senders.key.lines, 1_000_000],
    ['tasks.create', [`Authorization: Bearer ${reader}`], 1_000_000],
    ['login.end', [`Authorization: Bearer ${reader}`], 1_000_000],
  ] as const) {
    for (const batch of ['', '?batch=1']) {
      const make = (share: number) => {
        const sent = `{"json":${json},"meta":${of(Math.floor(chars * share))}}`
        return rawRequest(`POST /trpc/${path}${batch}`, [...lines, jsonType], batch ? `{"0":${sent}}` : sent)
      }
      await expectLinearWork({ what: `${path}${batch}`, url, make })
    }
  }
  const input = (share: number) =>
    rawRequest(`GET /trpc/account.get?input=${encodeURIComponent(`{"json":{},"meta":${of(4000 * share)}}`)}`, [
      `Authorization: Bearer ${reader}`,
    ])
  await expectLinearWork({ what: 'account.get', url, make: input })
})

/** Fragments that may make regular expressions and parsers backtrack. */
const parts = ['a', '%20', '+', '%', '&', 'a=1&', ',', ';', ';q=', 'a,', '/', '.', '-', '"', '(', ':', 'a@', '[]', '0']

test('processes long paths in linear time', async () => {
  const { url } = shared.world.service
  for (const start of ['/', '/api/', '/api/tasks/', '/api/payloads/', '/trpc/', '/docs/', '/assets/', '/login/oidc/']) {
    for (const part of [...parts, 'tasks.list,', 'errand_sk_', '../', 'a-']) {
      const make = (share: number) => rawRequest(`GET ${start}${part.repeat(times(14_000 / part.length, share))}`, [])
      await expectLinearWork({ what: start + part, url, make })
    }
  }
})

const headers = `
  Accept Accept-Encoding Authorization Content-Encoding Content-Type Cookie Expect Forwarded Host Idempotency-Key
  If-None-Match Origin Sec-Fetch-Site traceparent Transfer-Encoding trpc-accept User-Agent Via X-Forwarded-For X-Unknown`
  .trim()
  .split(/\s+/)

test.each(headers)('processes a long %s header in linear time', async (header) => {
  const { senders, service } = shared.world
  const valid: Record<string, string> = {
    Authorization: 'Bearer ',
    Cookie: 'errand=',
    'Content-Type': 'application/json',
  }
  const email = JSON.stringify({ email: 'nobody@example.com', password: 'x' })
  for (const part of [...parts, ' a', '; ', 'errand=a; ', 'gzip;q=0.5,', 'W/"a", ', '127.0.0.1,', 'Bearer ']) {
    const line = (share: number) =>
      `${header}: ${valid[header] ?? ''}${part.repeat(times(14_000 / part.length, share))}`
    for (const [start, { lines }, body] of [
      ['GET /docs/start.js', senders.stranger, ''],
      ['GET /api/account', senders.key, ''],
      ['GET /trpc/account.get', senders.cookie, ''],
      ['POST /api/login', senders.page, email],
      ['POST /api/tasks', senders.key, '{}'],
    ] as const) {
      const others = lines.filter((one) => !one.startsWith(`${header}:`))
      const make = (share: number) => rawRequest(start, [...others, line(share)], body)
      await expectLinearWork({ what: `${start} ${part}`, url: service.url, make })
    }
  }
})

test('the tests above cover more than thirty operations', () => {
  expect(withBody.length).toBeGreaterThan(10)
  expect(operations.length).toBeGreaterThan(30)
})
