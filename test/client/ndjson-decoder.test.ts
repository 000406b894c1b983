import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ErrandClientError } from '../../client/client.ts'
import { NdjsonDecoder } from '../../client/streams/ndjson-decoder.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Returns the decoded events, followed by the code of the error, if any. */
function decode(chunks: Iterable<Uint8Array>, lineBytesMax?: number): unknown[] {
  const decoder = new NdjsonDecoder(lineBytesMax)
  const found: unknown[] = []
  try {
    for (const chunk of chunks) collect(decoder.push(chunk), found)
    collect(decoder.end(), found)
  } catch (thrown) {
    if (!(thrown instanceof ErrandClientError)) throw thrown
    found.push(thrown.code)
  }
  return found
}

/** Collects the events one by one, so that events before an error are kept. */
function collect(events: Iterable<unknown>, found: unknown[]): void {
  for (const event of events) found.push(event)
}

function cutAt(bytes: Uint8Array, positions: readonly number[]): Uint8Array[] {
  const edges = [0, ...positions.toSorted((a, b) => a - b), bytes.length]
  return edges.slice(1).map((end, index) => bytes.slice(edges[index], end))
}

const tricky = [
  { type: 'assistant_delta', timestamp: '2026-01-01T00:00:00.000Z', delta: 'Grüße, 世界 👩‍👩‍👧 \u2028 \\ " \r\n' },
  { type: 'tool_call', toolCall: { id: '1', name: 'x', arguments: { 'a\nb': ['\ud83d', {}, null, 1e-7] } } },
  { type: 'ä', empty: '' },
  { type: 'done', costUsd: '0.0001' },
]
const [first, second, third, last] = tricky.map((event) => JSON.stringify(event)) as [string, string, string, string]
const transcript = bytesOf(`\n${first}\r\n\r\n \t\n${second}\n${third}\r\n\n${last}`)

test('decodes the same events wherever the bytes are cut, even inside characters and escapes', () => {
  expect(decode([transcript])).toEqual(tricky)
  for (let one = 0; one <= transcript.length; one++) {
    for (const two of [one, one + 1, one + 2, transcript.length - 1]) {
      const chunks = cutAt(transcript, [one, Math.min(two, transcript.length)])
      expect(decode(chunks), `cut at ${one} and ${two}`).toEqual(tricky)
    }
  }
})

test('decodes the same events from single bytes and with empty chunks', () => {
  expect(decode(Array.from(transcript, (byte) => Uint8Array.of(byte)))).toEqual(tricky)
  expect(decode(Array.from(transcript, (byte) => [new Uint8Array(0), Uint8Array.of(byte)]).flat())).toEqual(tricky)
})

test('decodes any bytes the same in any chunks: valid events first, then the error', () => {
  const line = fc.oneof(
    { weight: 4, arbitrary: fc.record({ type: fc.string({ unit: 'binary' }), value: fc.jsonValue() }).map(toLine) },
    { weight: 2, arbitrary: fc.constantFrom('', '\r', '  \t', ' {"type":"x"} ').map(bytesOf) },
    { weight: 1, arbitrary: fc.oneof(fc.uint8Array({ maxLength: 8 }), fc.json().map(bytesOf)) },
  )
  const stream = fc.record({ lines: fc.array(line, { maxLength: 6 }), isClosed: fc.boolean() })
  fc.assert(
    fc.property(
      stream,
      fc.array(fc.nat(), { maxLength: 12 }),
      fc.integer({ min: 10, max: 200 }),
      (given, cuts, max) => {
        const bytes = join(given.lines, given.isClosed)
        const positions = cuts.map((cut) => cut % (bytes.length + 1))
        expect(decode(cutAt(bytes, positions), max)).toEqual(decode([bytes], max))
      },
    ),
    { numRuns: 500 },
  )
})

test('decodes serialized JSON in any chunks', () => {
  const event = fc.record({ type: fc.string(), value: fc.jsonValue() })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 8 }), (events, cuts) => {
      const bytes = join(events.map(toLine), true)
      const positions = cuts.map((cut) => cut % (bytes.length + 1))
      expect(decode(cutAt(bytes, positions))).toEqual(JSON.parse(JSON.stringify(events)))
    }),
  )
})

const bad: [name: string, line: Uint8Array][] = [
  ['plain text', bytesOf('hello')],
  ['a truncated object', bytesOf('{"type":"done"')],
  ['two objects', bytesOf('{"type":"a"}{"type":"b"}')],
  ['a number', bytesOf('7')],
  ['null', bytesOf('null')],
  ['an array', bytesOf('[{"type":"a"}]')],
  ['an object without a type', bytesOf('{"delta":"x"}')],
  ['an object whose type is not a string', bytesOf('{"type":1}')],
  ['a no-break space', bytesOf('\u00a0')],
  ['an HTML page', bytesOf('<html></html>')],
  ['invalid UTF-8', Uint8Array.of(...bytesOf('{"type":"'), 0xff, ...bytesOf('"}'))],
  ['a truncated character', Uint8Array.of(...bytesOf('{"type":"'), 0xe2, 0x82, ...bytesOf('"}'))],
]

for (const [name, line] of bad) {
  test(`throws BAD_RESPONSE for ${name} after earlier events, without quoting it`, () => {
    const bytes = join([bytesOf('{"type":"before"}'), line, bytesOf('{"type":"after"}')], true)
    expect(decode([bytes])).toEqual([{ type: 'before' }, 'BAD_RESPONSE'])
    const decoder = new NdjsonDecoder()
    expect(() => [...decoder.push(join([line], true))]).toThrow(
      'The stream contains a line that is not an event, which the service does not send. Check baseUrl and any proxies.',
    )
  })
}

test('accepts a last line without a line feed and ignores a truncated last line', () => {
  expect(decode([bytesOf('{"type":"a"}\n{"type":"b"}')])).toEqual([{ type: 'a' }, { type: 'b' }])
  expect(decode([bytesOf('{"type":"a"}\n{"type":"b"}\r')])).toEqual([{ type: 'a' }, { type: 'b' }])
  for (const rest of ['', ' ', '\r', '{', '{"type":"b"', '{"type":"b', 'tru']) {
    expect(decode([bytesOf(`{"type":"a"}\n${rest}`)]), rest).toEqual([{ type: 'a' }])
  }
  expect(decode([Uint8Array.of(...bytesOf('{"type":"a"}\n{"type":"'), 0xe2, 0x82)])).toEqual([{ type: 'a' }])
  expect(decode([bytesOf('{"type":"a"}\n7')])).toEqual([{ type: 'a' }, 'BAD_RESPONSE'])
})

test('throws BAD_RESPONSE as soon as a line exceeds the limit, not at exactly the limit', () => {
  const line = '{"type":"exactly so"}'
  expect(decode([bytesOf(`${line}\n${line}`)], line.length)).toEqual([{ type: 'exactly so' }, { type: 'exactly so' }])
  expect(decode([bytesOf(`${line}\n${line} \n`)], line.length)).toEqual([{ type: 'exactly so' }, 'BAD_RESPONSE'])
  const decoder = new NdjsonDecoder(10)
  const push = (text: string) => [...decoder.push(bytesOf(text))]
  expect(push('          ')).toEqual([])
  expect(() => push(' ')).toThrow('a line of more than 10 bytes')
})

test('the line limit is 64 MiB, and long lines in small chunks are decoded', () => {
  const delta = 'x'.repeat(8_000_000)
  const bytes = bytesOf(`${JSON.stringify({ type: 'a', delta })}\n`)
  const chunks = Array.from({ length: Math.ceil(bytes.length / 1000) }, (_, index) =>
    bytes.subarray(index * 1000, (index + 1) * 1000),
  )
  expect(decode(chunks)).toEqual([{ type: 'a', delta }])
  const decoder = new NdjsonDecoder()
  const mebibyte = new Uint8Array(1024 * 1024).fill(0x20)
  for (let count = 0; count < 64; count++) expect([...decoder.push(mebibyte)]).toEqual([])
  expect(() => [...decoder.push(Uint8Array.of(0x20))]).toThrow('67108864 bytes')
})

function toLine(event: unknown): Uint8Array {
  return bytesOf(JSON.stringify(event))
}

function join(lines: readonly Uint8Array[], isClosed: boolean): Uint8Array {
  const parts = lines.flatMap((line, index) => (isClosed || index < lines.length - 1 ? [line, bytesOf('\n')] : [line]))
  return new Uint8Array(parts.flatMap((part) => [...part]))
}
