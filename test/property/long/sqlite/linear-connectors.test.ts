import type { ServerResponse } from 'node:http'
import { afterEach, expect, test, vi } from 'vitest'
import { ConnectorBounds } from '../../../../server/connectors/connector-bounds.ts'
import type { ConnectorSpec } from '../../../../server/connectors/connector-spec.ts'
import { openConnectors } from '../../../../server/connectors/thread/open-connectors.ts'
import { probeConnector } from '../../../../server/connectors/thread/probe-connector.ts'
import { stopAll } from '../../../connectors/guarded-server.ts'
import { startMcpServer, type Handle } from '../../../connectors/run-http-server.ts'
import { hostile, times, type Limits } from '../../hostile-values.ts'
import { expectLinear } from '../../measured-work.ts'

// All users share the connector thread, so processing a response of a user's server must take time linear in its size.
// The tests cover `initialize`, `tools/list` and calls, as JSON and as events, with errors, statuses and headers.

afterEach(stopAll)
// Processing responses of several megabytes is slow on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

const limits: Limits = { chars: 9_900_000, values: 49_000, names: 49_000 }
/** Secrets that the response almost contains, over and over. */
const secrets = [
  `${'a'.repeat(2000)}b`,
  `${'a '.repeat(50)}b`,
  ...Array.from({ length: 50 }, (_, n) => `a${n}aaaaaaaa`),
]

/** A server that sends a bad response to one method. `made`: a value of the measured size. */
type Bad = { method: string; handle: (response: ServerResponse, id: number | undefined, made: string) => unknown }

async function expectLinearAnswer(what: string, { handle, method }: Bad, make: (share: number) => string) {
  let made = ''
  const answer: Handle = (response, { id }) => handle(response, id, made)
  const server = await startMcpServer({ [method]: answer })
  const bounds = new ConnectorBounds({ processesMax: 1, processesPerUserMax: 1 })
  const target: ConnectorSpec['target'] = {
    kind: 'http',
    url: `${server.origin}/`,
    headers: {},
    privateHosts: [server.host],
  }
  const spec = { connectorId: 'conn', userId: 'user', name: 'Bad', allowedTools: null, target, secrets }
  const { signal } = new AbortController()
  const work = async () => {
    if (method === 'tools/list') await probeConnector({ spec }, { signal, bounds })
    const run = await openConnectors([spec], { bounds, reservedNames: [], signal, waitMs: 0 }).catch(() => undefined)
    // The service copies results between threads, so the copying counts too.
    structuredClone(run?.tools)
    if (method === 'tools/call') structuredClone(await run?.call('use').catch(() => undefined))
    await run?.close()
  }
  let seen = 0
  await expectLinear({
    what: `${method}: ${what}`,
    make: (share) => {
      const text = make(share)
      return () => {
        seen++
        made = text
        return work()
      }
    },
  })
  expect(seen).toBeGreaterThan(0)
  expect(server.requests.some(({ body }) => body.includes(method))).toBe(true)
  await stopAll()
}

const head = (id: number | undefined) => `{"jsonrpc":"2.0","id":${id},`
const asJson =
  (fill: (made: string) => string): Bad['handle'] =>
  (response, id, made) =>
    void response.writeHead(200, { 'Content-Type': 'application/json' }).end(`${head(id)}${fill(made)}}`)

/** Places for a value in the response to each method. */
const places: Record<string, Record<string, (made: string) => string>> = {
  initialize: {
    capabilities: (made) =>
      `"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":${made}},"serverInfo":{"name":"a","version":"1"}}`,
    version: (made) => `"result":{"protocolVersion":${made},"capabilities":{},"serverInfo":{"name":"a","version":"1"}}`,
    error: (made) => `"error":{"code":-32000,"message":"x","data":${made}}`,
  },
  'tools/list': {
    result: (made) => `"result":${made}`,
    tools: (made) => `"result":{"tools":${made}}`,
    'a name': (made) => `"result":{"tools":[{"name":${made},"inputSchema":{"type":"object"}}]}`,
    'a description': (made) =>
      `"result":{"tools":[{"name":"use","description":${made},"inputSchema":{"type":"object"}}]}`,
    'a schema': (made) => `"result":{"tools":[{"name":"use","inputSchema":{"type":"object","properties":${made}}}]}`,
    'a cursor': (made) => `"result":{"tools":[],"nextCursor":${made}}`,
  },
  'tools/call': {
    result: (made) => `"result":${made}`,
    content: (made) => `"result":{"content":${made}}`,
    'a text': (made) => `"result":{"content":[{"type":"text","text":${made}}]}`,
    'structured content': (made) => `"result":{"content":[],"structuredContent":${made}}`,
    'the first protocol': (made) => `"result":{"toolResult":${made}}`,
    'an error': (made) => `"error":{"code":-32000,"message":${made}}`,
    'data of an error': (made) => `"error":{"code":-32000,"message":"x","data":${made}}`,
  },
}

/** Limits on tools and call results. The service stops processing larger ones. */
const inner: Record<string, Limits> = {
  initialize: limits,
  'tools/list': { ...limits, chars: 900_000 },
  'tools/call': { ...limits, chars: 1_900_000 },
}

test.each(Object.keys(places))('processes hostile values in a %s response in linear time', async (method) => {
  for (const [place, fill] of Object.entries(places[method]!)) {
    for (const [what, of] of Object.entries(hostile)) {
      await expectLinearAnswer(`${place} of ${what}`, { method, handle: asJson(fill) }, (share) =>
        of(inner[method]!, share),
      )
    }
  }
  // Test values beyond those limits too, up to the maximum response size.
  for (const what of ['letters', 'backslashes']) {
    for (const [place, fill] of Object.entries(places[method]!)) {
      await expectLinearAnswer(`${place} of the most ${what}`, { method, handle: asJson(fill) }, (share) =>
        hostile[what]!(limits, share),
      )
    }
  }
})

const many = (part: string, chars: number) => (share: number) => part.repeat(times(chars / part.length, share))

test('processes many tools, or many with the same name, in linear time', async () => {
  const tools = (name: (n: number) => string) => (share: number) =>
    JSON.stringify(
      Array.from({ length: times(8000, share) }, (_, n) => ({ name: name(n), inputSchema: { type: 'object' } })),
    )
  const names = { 'the same name': () => 'use', 'names of signs': (n: number) => '§'.repeat(n % 60), names: String }
  for (const [what, name] of Object.entries(names)) {
    const handle = asJson(places['tools/list']!['tools']!)
    await expectLinearAnswer(what, { method: 'tools/list', handle }, tools(name))
  }
})

/** Pieces of an event stream, repeated before the response. */
const pieces: Record<string, string> = {
  'line feeds': '\n',
  'carriage returns': '\r',
  'CRLF line ends': '\r\n',
  comments: ':\n',
  'long comments': `:${'a'.repeat(1000)}\n`,
  'fields without names': 'a\n',
  'empty data': 'data\n',
  'data lines': 'data: a\n',
  'event ids': 'id: 1\n',
  retries: 'retry: 1\n',
  'event names': 'event: message\n',
  'events with unknown names': 'event: a\ndata: {}\n\n',
  notifications: 'data: {"jsonrpc":"2.0","method":"a"}\n\n',
  'responses to no request': 'data: {"jsonrpc":"2.0","id":99,"result":{}}\n\n',
  'data that is no JSON': 'data: {\n\n',
  'one long line': 'a',
  'one long line of data': 'data: ',
}

test.each(Object.entries(pieces))('processes an event stream with %s in linear time', async (what, piece) => {
  const handle: Bad['handle'] = (response, id, made) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.end(`${made}\n\ndata: ${head(id)}"result":{"content":[]}}\n\n`)
  }
  await expectLinearAnswer(
    what,
    { method: 'tools/call', handle },
    many(piece, piece.length > 1 ? 2_000_000 : 9_000_000),
  )
})

test.each(['application/json', 'text/event-stream'])(
  'processes a %s response in one-byte chunks in linear time',
  async (type) => {
    const handle: Bad['handle'] = (response, id, made) => {
      const text = `data: ${head(id)}"result":{"content":[{"type":"text","text":"${made}"}]}}\n\n`
      response.writeHead(200, { 'Content-Type': type })
      const socket = response.socket!
      response.flushHeaders()
      const body = type.startsWith('text') ? text : text.slice('data: '.length)
      socket.write(`${[...body].map((char) => `1\r\n${char}\r\n`).join('')}0\r\n\r\n`)
    }
    await expectLinearAnswer('pieces', { method: 'tools/call', handle }, many('a', 300_000))
  },
)

const headers = [
  'Content-Type',
  'Content-Encoding',
  'Location',
  'Mcp-Session-Id',
  'Set-Cookie',
  'WWW-Authenticate',
  'X-Any',
]

test.each(headers)('processes a long %s response header in linear time for every status', async (header) => {
  for (const part of ['a', ';', 'a=1; ', '../', '"']) {
    for (const status of [200, 307, 401, 500]) {
      const handle: Bad['handle'] = (response, id, made) =>
        void response.writeHead(status, { [header]: made }).end(`${head(id)}"result":{"content":[]}}`)
      await expectLinearAnswer(`${header} of ${part}, ${status}`, { method: 'tools/call', handle }, many(part, 15_000))
    }
  }
})

test('processes large error response bodies in linear time', async () => {
  for (const status of [400, 401, 404, 500]) {
    for (const type of ['application/json', 'text/event-stream', 'text/html']) {
      const handle: Bad['handle'] = (response, _id, made) =>
        void response.writeHead(status, { 'Content-Type': type }).end(made)
      await expectLinearAnswer(`${status} ${type}`, { method: 'tools/call', handle }, many('<a ', 9_000_000))
    }
  }
})
