import { brotliCompressSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import {
  expectRefused,
  expectRpcRefused,
  RawConnection,
  rawRequest,
  sendRaw,
  shareService,
} from '../../support/raw-http.ts'
import { startService } from '../../support/test-service.ts'

const bytesMax = 4000
const guarded = shareService({ limits: { maxBodyBytes: bytesMax } })
const json = 'Content-Type: application/json'
const task = JSON.stringify({ endpointId: 'test.free', params: {} })
const rpcTask = JSON.stringify({ json: { endpointId: 'test.free', params: {} } })

type Case = [title: string, lines: string[], body: string | Buffer]

const post = (target: string, lines: readonly string[], body: string | Buffer) =>
  sendRaw(guarded.service.url, rawRequest(target, [`Authorization: Bearer ${guarded.person.key}`, ...lines], body))

const wrongTypes: [title: string, lines: string[]][] = [
  ['no content type', []],
  ['an empty content type', ['Content-Type:']],
  ['text/plain', ['Content-Type: text/plain']],
  ['a form', ['Content-Type: application/x-www-form-urlencoded']],
  ['a multipart form', ['Content-Type: multipart/form-data; boundary=x']],
  ['a multipart form without a boundary', ['Content-Type: multipart/form-data']],
  ['application/octet-stream', ['Content-Type: application/octet-stream']],
  ['a type with a +json suffix', ['Content-Type: application/vnd.api+json']],
  ['JSON lines', ['Content-Type: application/jsonl']],
  ['the charset latin1', [`${json}; charset=latin1`]],
  ['the charset UTF-16', [`${json}; charset=utf-16`]],
  ['a tab before the charset', [`${json};\tcharset=utf-8`]],
  ['a tab inside the type', ['Content-Type: application/json\t; charset=utf-8']],
  ['two types in one header', ['Content-Type: application/json, text/plain']],
  ['text around the type', ['Content-Type: x application/json']],
  ['a body in gzip', [json, 'Content-Encoding: gzip']],
  ['a body in Brotli', [json, 'Content-Encoding: br']],
  ['an unknown encoding', [json, 'Content-Encoding: x']],
  ['two encodings', [json, 'Content-Encoding: identity, gzip']],
]

test.each(wrongTypes)('returns 415 for %s', async (_title, lines) => {
  await expectRefused(guarded, { status: 415 }, () => post('POST /api/tasks', lines, task))
  await expectRefused(guarded, { status: 415 }, () => post('POST /api/keys', lines, '{"name":"a"}'))
})

test.each(wrongTypes)('returns 415 over typed RPC for %s', async (_title, lines) => {
  await expectRpcRefused(guarded, { status: 415 }, () => post('POST /trpc/tasks.create', lines, rpcTask))
})

test.each([
  ['gzip', gzipSync(task)],
  ['br', brotliCompressSync(task)],
])('returns 415 for a body compressed with %s', async (encoding, body) => {
  await expectRefused(guarded, { status: 415 }, () =>
    post('POST /api/tasks', [json, `Content-Encoding: ${encoding}`], body),
  )
})

test.each([
  'application/json',
  'APPLICATION/JSON',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'Application/Json ; Charset="UTF-8"',
  '  application/json  ',
])('accepts the content type %j', async (type) => {
  const { key } = await guarded.service.createPerson()
  for (const [target, body] of [
    ['POST /api/tasks', task],
    ['POST /trpc/tasks.create', rpcTask],
  ] as const) {
    const lines = [`Authorization: Bearer ${key}`, `Content-Type: ${type}`, 'Content-Encoding: identity']
    expect((await sendRaw(guarded.service.url, rawRequest(target, lines, body)))!.status, target).toBe(200)
  }
})

const brokenJson: Case[] = [
  ['an empty body', [], ''],
  ['an empty body with Content-Length 0', ['Content-Length: 0'], ''],
  ['whitespace', [], ' \r\n\t '],
  ['an opening brace', [], '{'],
  ['a body that stops in a key', [], '{"endpoint'],
  ['a body that stops in a value', [], '{"endpointId":"test.fr'],
  ['a body without its last brace', [], task.slice(0, -1)],
  ['two objects', [], task + task],
  ['text after the object', [], `${task}x`],
  ['a trailing comma', [], '{"endpointId":"test.free","params":{},}'],
  ['single quotes', [], `{'endpointId':'test.free','params':{}}`],
  ['keys without quotes', [], '{endpointId:"test.free",params:{}}'],
  ['a comment', [], `/* a */${task}`],
  ['undefined', [], 'undefined'],
  ['NaN', [], '{"endpointId":"test.free","params":{"a":NaN}}'],
  ['Infinity', [], '{"endpointId":"test.free","params":{"a":Infinity}}'],
  ['-Infinity', [], '{"endpointId":"test.free","params":{"a":-Infinity}}'],
  ['a leading zero', [], '{"endpointId":"test.free","params":{"a":01}}'],
  ['a number without a leading zero', [], '{"endpointId":"test.free","params":{"a":.5}}'],
  ['a plus sign', [], '{"endpointId":"test.free","params":{"a":+1}}'],
  ['a hexadecimal number', [], '{"endpointId":"test.free","params":{"a":0x10}}'],
  ['a line break in a string', [], '{"endpointId":"test.\nfree","params":{}}'],
  ['a NUL in a string', [], '{"endpointId":"test.\0free","params":{}}'],
  ['a NUL after the object', [], `${task}\0`],
  ['an incomplete escape', [], '{"endpointId":"\\u12","params":{}}'],
  ['a form', [], 'endpointId=test.free&params={}'],
  ['XML', [], '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'],
  ['a byte order mark', [], Buffer.from(`\ufeff${task}`)],
  ['UTF-16', [], Buffer.from(`\ufeff${task}`, 'utf16le')],
  ['an invalid UTF-8 byte', [], Buffer.concat([Buffer.from('{"endpointId":"'), Buffer.of(0xff), Buffer.from('"}')])],
  ['latin1', [], Buffer.from('{"endpointId":"caf\xe9","params":{}}', 'latin1')],
  [
    'an overlong UTF-8 encoding of a slash',
    [],
    Buffer.concat([Buffer.from('{"endpointId":"'), Buffer.of(0xc0, 0xaf), Buffer.from('"}')]),
  ],
  [
    'a surrogate encoded in UTF-8',
    [],
    Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xed, 0xa0, 0x80), Buffer.from('"}')]),
  ],
  ['a truncated UTF-8 character at the end', [], Buffer.concat([Buffer.from(task), Buffer.of(0xe2, 0x82)])],
  ['an emoji', [], '😀'],
]

test.each(brokenJson)('returns 400 for %s', async (_title, lines, body) => {
  const answer = await expectRefused(guarded, { status: 400, field: '' }, () =>
    post('POST /api/tasks', [json, ...lines], body),
  )
  expect(answer.body.message.isWellFormed(), 'quotes no half characters').toBe(true)
})

test.each(brokenJson)('returns 400 over typed RPC for %s', async (_title, lines, body) => {
  await expectRpcRefused(guarded, { status: 400, field: '' }, () =>
    post('POST /trpc/tasks.create', [json, ...lines], body),
  )
})

test('returns 400 for a chunked body without chunks', async () => {
  await expectRefused(guarded, { status: 400, field: '' }, () => postChunks('/api/tasks', '0\r\n\r\n'))
  await expectRpcRefused(guarded, { status: 400, field: '' }, () => postChunks('/trpc/tasks.create', '0\r\n\r\n'))
})

function postChunks(path: string, chunks: string) {
  const lines = [`Authorization: Bearer ${guarded.person.key}`, json, 'Transfer-Encoding: chunked']
  return sendRaw(guarded.service.url, rawRequest(`POST ${path}`, lines) + chunks)
}

test.each(['[]', `[${task}]`, '"x"', '""', '0', '1', 'null', 'true', 'false', '-0.5e3'])(
  'returns 400 for the body %s, which is not an object',
  async (body) => {
    for (const target of ['POST /api/tasks', 'POST /api/keys', 'POST /api/keys/key_1/rotate']) {
      await expectRefused(guarded, { status: 400, field: '', message: /object/ }, () => post(target, [json], body))
    }
    await expectRpcRefused(guarded, { status: 400, field: '' }, () => post('POST /trpc/tasks.create', [json], body))
  },
)

const tooLarge = JSON.stringify({ endpointId: 'test.free', params: { a: 'x'.repeat(bytesMax) } })

test('returns 413 based on Content-Length, before the body arrives', async () => {
  const lines = [json, `Content-Length: ${bytesMax + 1}`]
  await expectRefused(guarded, { status: 413, message: /4000 bytes/ }, () => post('POST /api/tasks', lines, ''))
  await expectRpcRefused(guarded, { status: 413, message: /4000 bytes/ }, () =>
    post('POST /trpc/tasks.create', lines, ''),
  )
})

test('returns 413 for a chunked body as soon as it exceeds the limit', async () => {
  const chunk = `${tooLarge.length.toString(16)}\r\n${tooLarge}\r\n`
  await expectRefused(guarded, { status: 413 }, () => postChunks('/api/tasks', chunk))
  await expectRpcRefused(guarded, { status: 413 }, () => postChunks('/trpc/tasks.create', chunk))
})

test('accepts a body of exactly the limit and returns 413 for one byte more', async () => {
  const { service } = guarded
  const { key } = await service.createPerson()
  // Characters of two bytes show that the limit is in bytes.
  const text = JSON.stringify({ endpointId: 'test.free', params: { a: 'é'.repeat(1500) } })
  const exact = text + ' '.repeat(bytesMax - Buffer.byteLength(text))
  expect((await service.post('/api/tasks', exact, { key })).status).toBe(200)
  await expectRefused(guarded, { status: 413 }, () => post('POST /api/tasks', [json], `${exact} `))
})

test('reads a body of many chunks completely', async () => {
  const { key } = await guarded.service.createPerson()
  using connection = await RawConnection.open(guarded.service.url)
  await connection.send(
    rawRequest('POST /api/tasks', [`Authorization: Bearer ${key}`, json, 'Transfer-Encoding: chunked']),
  )
  for (const character of task) await connection.send(`1\r\n${character}\r\n`)
  await connection.send('0\r\n\r\n')
  expect((await connection.readAnswer())!.status).toBe(200)
})

test('a client that is still sending a large body receives the 413', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  for (let count = 0; count < 10; count++) {
    const { status } = await fetch(`${service.url}/api/tasks`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: new ReadableStream({
        start(controller) {
          for (let chunk = 0; chunk < 20; chunk++) controller.enqueue(Buffer.alloc(1_000_000, 32))
          controller.close()
        },
      }),
      duplex: 'half',
    } as RequestInit)
    expect(status).toBe(413)
  }
  await service.stop()
})

test('returns 413 for bodies over 16 KB on operations without authentication', async () => {
  const service = await startService()
  const body = (chars: number) => ({ email: 'ada@example.com', password: 'wrong', more: 'x'.repeat(chars) })
  for (const [path, wrap] of [
    ['/api/login', (value: object) => value],
    ['/trpc/login.create', (value: object) => ({ json: value })],
    ['/api/invitations/accept', (value: object) => value],
    ['/trpc/invitations.accept', (value: object) => ({ json: value })],
  ] as const) {
    expect((await service.post(path, wrap(body(16 * 1024)))).status, path).toBe(413)
    expect((await service.post(path, wrap(body(15 * 1024)))).status, path).not.toBe(413)
  }
  await service.stop()
})
