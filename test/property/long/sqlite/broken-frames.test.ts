import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { resolveLimits } from '../../../../server/app/config.ts'
import { publicBodyBytesMax } from '../../../../server/http/limits/read-body.ts'
import { operations, type Operation } from '../../../pins/documented-answers.ts'
import { expectErrorBody, expectRpcError, rawRequest } from '../../../support/raw-http.ts'
import { always, expectPromisedRefusal, expectRpcRefusal, sendForNothing } from '../../checked-answers.ts'
import { text } from '../../document-values.ts'
import { shareWorld, type Sender } from '../../property-world.ts'
import {
  bodySchemaOf,
  jsonType,
  parametersOf,
  procedureOf,
  restRequest,
  rpcRequest,
  targetOf,
  validDraft,
  type Draft,
} from '../../request-drafts.ts'

// For every operation in the OpenAPI document: a valid request with a broken method, path, header or byte, but no
// broken field, is rejected.

const runs = 12
const shared = shareWorld()

const named = (some: readonly Operation[]) => some.map((operation) => [operation.id, operation] as const)
const withBody = operations.filter((operation) => bodySchemaOf(operation))

type Good = { sender: Sender; draft: Draft }

const good = (operation: Operation): fc.Arbitrary<Good> =>
  fc.record({
    sender: fc.constantFrom(...shared.world.sendersOf(operation)),
    draft: validDraft(shared.world, operation),
  })

/**
 * Asserts a rejection that comes before the operation is looked up, so that the document promises only the error body.
 */
async function expectRefusedFrame(bytes: Buffer, status: number): Promise<void> {
  expectErrorBody(await sendForNothing(shared.world, { bytes }), { status })
}

const paths = [...Map.groupBy(operations, ({ path }) => path)]
const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND', 'M-SEARCH', 'QUERY']

/**
 * Returns the methods of all path templates that match: `/api/invitations/check` also matches
 * `/api/invitations/{invitationId}`.
 */
function methodsAt(path: string): string[] {
  const fitting = operations.filter((one) => new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
  // A stream does not support HEAD, because its length is unknown in advance.
  const isStream = ({ spec }: Operation) =>
    ['application/x-ndjson', 'text/csv'].some((type) => type in (spec['responses'][200].content ?? {}))
  return [
    ...new Set(fitting.flatMap((one) => (one.method === 'GET' && !isStream(one) ? ['GET', 'HEAD'] : [one.method]))),
  ]
}

test.each(paths)('%s rejects every other method with 405 and an Allow header', async (path, known) => {
  const own = methodsAt(path)
  const others = ['HEAD', ...methods].filter((method) => !own.includes(method))
  const senders = fc.constantFrom(...Object.values(shared.world.senders))
  for (const method of others) {
    await always(1, fc.tuple(good(known[0]!), senders), async ([{ draft }, sender]) => {
      const target = targetOf(known[0]!, draft)
      const bytes = rawRequest(`${method} ${target}`, [...sender.lines, jsonType], method === 'HEAD' ? '' : '{}')
      const answer = await sendForNothing(shared.world, { bytes, isHead: method === 'HEAD' })
      if (method === 'HEAD') expect(answer?.status).toBe(405)
      else expectErrorBody(answer, { status: 405 })
      expect(answer!.headers.get('allow')!.split(', ').toSorted()).toEqual([...own, 'OPTIONS'].toSorted())
    })
  }
  for (const method of ['CONNECT', 'BREW', 'get', 'GE T']) {
    await expectRefusedFrame(
      rawRequest(`${method} ${targetOf(known[0]!, { path: shared.world.ids, query: {} })}`, []),
      400,
    )
  }
})

/** Ways to turn a valid body into one that is not valid JSON in UTF-8. */
const spoiled: Record<string, (json: string, at: number) => Buffer> = {
  'cut off': (json, at) => Buffer.from(json.slice(0, 1 + (at % (json.length - 1)))),
  'with more after it': (json, at) => Buffer.from(json + ['}', ',', '1', '{}', '\0', '//', '\u00a0'][at % 7]),
  'with a byte order mark': (json) => Buffer.from(`\ufeff${json}`),
  'with a trailing comma': (json) => Buffer.from(json.replace(/\}$/, ',}')),
  'with a value that JSON has not': (json, at) =>
    Buffer.from(
      json.replace(
        '{',
        `{"odd":${['NaN', 'Infinity', 'undefined', "'a'", '01', '.5', '+1', '"\n"', '"\\x"'][at % 9]},`,
      ),
    ),
  'in UTF-16': (json) => Buffer.from(json, 'utf16le'),
  'with a byte that is no UTF-8': (json, at) => {
    const bytes = Buffer.from(json)
    const odd = [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xe2, 0x82], [0xf8, 0x88, 0x80, 0x80, 0x80]][at % 5]!
    return Buffer.concat([
      bytes.subarray(0, 1),
      Buffer.from('"'),
      Buffer.from(odd),
      Buffer.from('":1,'),
      bytes.subarray(1),
    ])
  },
  compressed: (json) => gzipSync(json),
  'nested without end': (_json, at) => Buffer.from(['[', '{"a":'][at % 2]!.repeat(100_000)),
  'nested a hundred thousand times': (json) =>
    Buffer.from(
      json
        .replace(/^\{(?:"json":\{)?/, (start) => `${start}"odd":${'['.repeat(100_000)}${']'.repeat(100_000)},`)
        .replace(/,\}/, '}'),
    ),
  'of another type': (_json, at) => Buffer.from(['null', '1', '"a"', '[]', 'true', '[{}]', '1e400', ' '][at % 8]!),
}

/** Body size limit of the operation. Operations without authentication accept only small bodies. */
const bytesMaxOf = ({ spec }: Operation): number =>
  spec['security'].length === 0 ? publicBodyBytesMax : resolveLimits({}, {}).maxBodyBytes

const statusOf = (operation: Operation, body: Buffer): number => (body.length > bytesMaxOf(operation) ? 413 : 400)

test.each(named(withBody))('%s rejects a body that is not a JSON object and writes nothing', async (_id, operation) => {
  const procedure = procedureOf(operation)!
  for (const [how, spoil] of Object.entries(spoiled)) {
    await always(
      how.startsWith('nested') ? 1 : 3,
      fc.tuple(good(operation), fc.nat()),
      async ([{ draft, sender }, at]) => {
        const lines = [...sender.lines, jsonType]
        const rest = spoil(JSON.stringify(draft.body ?? {}), at)
        const sent = { bytes: rawRequest(`${operation.method} ${targetOf(operation, draft)}`, lines, rest) }
        await expectPromisedRefusal(shared.world, { operation, sent }, { status: statusOf(operation, rest) })
        const envelope = JSON.stringify({ json: { ...draft.path, ...(draft.body as object) } })
        if (how === 'of another type') return
        const wrapped = spoil(envelope, at)
        const rpc = rawRequest(`POST /trpc/${procedure.path}`, lines, wrapped)
        await expectRpcRefusal(shared.world, rpc, { status: statusOf(operation, wrapped) })
      },
    )
  }
})

test.each(named(withBody))('%s writes nothing if its body is incomplete', async (_id, operation) => {
  const values = fc.tuple(good(operation), fc.nat(), fc.boolean())
  await always(runs, values, async ([{ draft, sender }, at, isChunked]) => {
    const json = Buffer.from(JSON.stringify(draft.body ?? {}))
    const part = json.subarray(0, at % json.length)
    const start = `${operation.method} ${targetOf(operation, draft)}`
    const lines = [
      ...sender.lines,
      jsonType,
      isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${json.length}`,
    ]
    const chunk = `${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`
    const rest = isChunked ? Buffer.from(part.length === 0 ? '' : chunk, 'latin1') : part
    const bytes = Buffer.concat([rawRequest(start, lines), rest])
    const answer = await sendForNothing(shared.world, { bytes, isCut: true })
    // There is no response if the client has already left.
    if (answer) expectErrorBody(answer, { status: 400 })
  })
})

test.each(named(withBody))('%s rejects an oversized body before it arrives', async (_id, operation) => {
  const over = fc.oneof(fc.constant(bytesMaxOf(operation) + 1), fc.constantFrom(2 ** 31, 2 ** 53 - 1))
  await always(2, fc.tuple(good(operation), over), async ([{ draft, sender }, bytes]) => {
    const lines = [...sender.lines, jsonType, `Content-Length: ${bytes}`]
    const start = `${operation.method} ${targetOf(operation, draft)}`
    const sent = { bytes: rawRequest(start, lines), isCut: true }
    await expectPromisedRefusal(shared.world, { operation, sent }, { status: 413 })
    const rpc = rawRequest(`POST /trpc/${procedureOf(operation)!.path}`, lines)
    const answer = await sendForNothing(shared.world, { bytes: rpc, isCut: true })
    expect(answer?.status).toBe(413)
    expectRpcError(answer!.body, { status: 413 })
  })
})

const otherTypes = [
  [],
  ...[
    'text/plain',
    'text/json',
    'application/jsonp',
    'application/json,',
    'application/json; charset=latin1',
    'application/json; charset=utf-16',
    'application/json; charset="utf-8',
    'application/json; charset=utf-8; a=b',
    'application/json\t',
    'application/json;',
    'application/ndjson',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    '*/*',
    '\u00e9',
  ].map((type) => [`Content-Type: ${type}`]),
  ...['gzip', 'br', 'deflate', 'identity, gzip', 'x', 'utf-8'].map((encoding) => [
    jsonType,
    `Content-Encoding: ${encoding}`,
  ]),
  [jsonType, jsonType],
]

test.each(named(withBody))(
  '%s rejects a body of an unsupported media type with 415 and writes nothing',
  async (_id, operation) => {
    const types = otherTypes.filter(([type]) => type !== 'Content-Type: application/json\t')
    await always(runs, fc.tuple(good(operation), fc.constantFrom(...types)), async ([{ draft, sender }, type]) => {
      const body = JSON.stringify(draft.body ?? {})
      const lines = [...sender.lines, ...type]
      const sent = { bytes: rawRequest(`${operation.method} ${targetOf(operation, draft)}`, lines, body) }
      await expectPromisedRefusal(shared.world, { operation, sent }, { status: 415 })
      const envelope = JSON.stringify({ json: { ...draft.path, ...(draft.body as object) } })
      const rpc = rawRequest(`POST /trpc/${procedureOf(operation)!.path}`, lines, envelope)
      await expectRpcRefusal(shared.world, rpc, { status: 415 })
    })
  },
)

/** Header lines that HTTP or the service does not allow, with the expected status. */
const oddHeads: readonly [number, ...string[]][] = [
  [400, 'Host: b.example'],
  [400, 'Content-Length: 2', 'Content-Length: 3'],
  [400, 'Content-Length: -1'],
  [400, 'Content-Length: 1e1'],
  [400, 'Transfer-Encoding: chunked', 'Content-Length: 3'],
  [400, 'Transfer-Encoding: gzip'],
  [400, 'X-Odd: a\0b'],
  [400, 'X-Odd : a'],
  [400, 'X Odd: a'],
  [400, ': a'],
  [400, 'no colon'],
  [400, 'X-Odd: a\nX-Other: b\r'],
  [417, 'Expect: the unexpected'],
  [431, `X-Odd: ${'x'.repeat(20_000)}`],
]

test.each(named(operations))('%s rejects malformed request headers and writes nothing', async (_id, operation) => {
  await always(
    runs,
    fc.tuple(good(operation), fc.constantFrom(...oddHeads)),
    async ([{ draft, sender }, [status, ...odd]]) => {
      const start = `${operation.method} ${targetOf(operation, draft)}`
      await expectRefusedFrame(rawRequest(start, [...sender.lines, jsonType, ...odd]), status)
    },
  )
})

const oddKeys = ['', ' ', 'a b', 'a\tb', '\u00e9', '€', 'x'.repeat(256)]
const keyed = operations.filter((operation) => parametersOf(operation, 'header').length > 0)

test.each(named(keyed))('%s rejects an invalid Idempotency-Key and writes nothing', async (_id, operation) => {
  const headers = fc.oneof(
    fc.constantFrom(...oddKeys).map((key) => [`Idempotency-Key: ${key}`]),
    fc.constant(['Idempotency-Key: a', 'Idempotency-Key: b']),
  )
  await always(runs, fc.tuple(good(operation), headers), async ([{ draft, sender }, odd]) => {
    const lines = [...sender.lines, ...odd]
    const expected = { status: 400, field: 'Idempotency-Key' }
    const sent = { bytes: restRequest(operation, draft, lines) }
    await expectPromisedRefusal(shared.world, { operation, sent }, expected)
    const input = { ...draft.path, ...(draft.body as object) }
    await expectRpcRefusal(shared.world, rpcRequest(procedureOf(operation)!, input, lines), expected)
  })
})

const withPath = operations.filter((operation) => parametersOf(operation, 'path').length > 0)
const brokenEncodings = ['%', '%z', '%zz', 'a%f', '%e9', '%ff', '%c0%80', '%ed%a0%80', '%u0041', '%%41']

test.each(named(withPath))('%s rejects a path with an unknown or malformed id', async (id, operation) => {
  const { name } = parametersOf(operation, 'path')[0]!
  const isPayload = id === 'getPayload'
  const others = text.filter((own) => own !== '' && own !== 'talk' && own !== 'test')
  // Skip external ids, because any well-formed one creates a user.
  const isExternal = name === 'externalId'
  await always(isExternal ? 0 : runs, fc.tuple(good(operation), others), async ([{ draft, sender }, value]) => {
    const sent = { bytes: restRequest(operation, { ...draft, path: { ...draft.path, [name]: value } }, sender.lines) }
    await expectPromisedRefusal(shared.world, { operation, sent }, { status: isPayload ? 403 : 404 })
    const procedure = procedureOf(operation)
    if (!procedure) return
    const input = { ...draft.path, ...draft.query, ...(draft.body as object), [name]: value }
    if (Object.keys(draft.query).length === 0) {
      await expectRpcRefusal(shared.world, rpcRequest(procedure, input, sender.lines), { status: 404 })
    }
  })
  await always(
    4,
    fc.tuple(good(operation), fc.constantFrom(...brokenEncodings)),
    async ([{ draft, sender }, value]) => {
      const path = operation.path.replace(`{${name}}`, value)
      const sent = { operation, sent: { bytes: restRequest({ ...operation, path }, draft, sender.lines) } }
      if (isPayload) await expectPromisedRefusal(shared.world, sent, { status: 403 })
      else await expectPromisedRefusal(shared.world, sent, { status: 400, field: name })
    },
  )
})

test('responds with 404 to a path that almost matches an operation', async () => {
  const changes: ((path: string) => string)[] = [
    (path) => `${path}/`,
    (path) => `/${path}`,
    (path) => path.replace('/api', '/API'),
    (path) => path.replace('/api/', '/api//'),
    (path) => path.replace('/api/', '/api/./'),
    (path) => path.replace('/api/', '/x/../api/'),
    (path) => path.replace('/api/', '/%61pi/'),
    (path) => `${path};a=b`,
    (path) => `${path}%00`,
  ]
  const values = fc.tuple(
    fc.constantFrom(...operations),
    fc.constantFrom(...changes),
    fc.constantFrom('key', 'admin', 'stranger'),
  )
  await always(runs * 20, values, async ([operation, change, who]) => {
    const path = change(operation.path.replaceAll(/\{\w+\}/g, 'x'))
    // The changed path may still match an operation.
    if (methodsAt(path).length > 0) return
    const { lines } = shared.world.senders[who as 'key']
    const bytes = rawRequest(`${operation.method} ${path}`, [...lines, jsonType], bodySchemaOf(operation) ? '{}' : '')
    await expectRefusedFrame(bytes, 404)
  })
})

test('responds with 404 to unknown procedures and 405 to the wrong method', async () => {
  const { world } = shared
  const called = operations.flatMap((operation) => procedureOf(operation) ?? [])
  const changes = ['/', 's', '.x', '%00', '.__proto__', '.constructor']
  const paths = new Set(called.map(({ path }) => path))
  const values = fc
    .tuple(fc.constantFrom(...called), fc.constantFrom(...changes))
    .filter(([{ path }, change]) => !paths.has(path + change))
  await always(runs * 5, values, async ([{ path, type }, change]) => {
    const { lines } = world.senders.key
    await expectRpcRefusal(world, rpcRequest({ path: path + change, type }, {}, lines), { status: 404 })
    const other = type === 'query' ? 'mutation' : 'query'
    const answer = await sendForNothing(world, {
      bytes: rpcRequest({ path, type: other }, {}, world.senders.admin.lines),
    })
    // This operation rejects an API key before it checks the method.
    expect(answer?.status, path).toBe(path === 'connectors.finishSignIn' ? 403 : 405)
  })
})
