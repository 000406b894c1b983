import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SecretFilter } from '../../../server/connectors/secret-filter.ts'
import { answerError, toToolAnswer } from '../../../server/connectors/thread/tool-answer.ts'

const secret = 'hunter2-"quoted"\\and-slashed'
const text = (of: string) => ({ type: 'text', text: of })

test('keeps content and structure; `text` joins the text parts with line feeds', () => {
  const content = [
    text('one'),
    { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    text('two\nthree'),
    { type: 'resource', resource: { uri: 'file:///a', text: 'no text part' } },
    { type: 'text' },
  ]
  expect(toToolAnswer({ content, structuredContent: { a: [1] } }, [])).toEqual({
    content,
    structuredContent: { a: [1] },
    isError: false,
    text: 'one\ntwo\nthree',
  })
})

test('treats a result as an error only if isError is `true`', () => {
  const isError = (given: unknown) => toToolAnswer({ content: [], isError: given }, []).isError
  expect([true, false, undefined, 'true', 1].map(isError)).toEqual([true, false, false, false, false])
})

test('handles results without structured content, and converts values of the oldest protocol to JSON', () => {
  expect(toToolAnswer({ content: [] }, [])).toEqual({ content: [], isError: false, text: '' })
  expect(toToolAnswer({ toolResult: { a: 1 } }, []).text).toBe('{"a":1}')
  expect(toToolAnswer({ toolResult: null }, []).text).toBe('null')
  expect(toToolAnswer({}, [])).toEqual({ content: [text('')], isError: false, text: '' })
})

test('replaces a result of over two million characters with an error', () => {
  const large = 'x'.repeat(2 * 1024 * 1024)
  for (const result of [{ content: [text(large)] }, { content: [], structuredContent: { large } }]) {
    const { content, isError, text: said } = toToolAnswer(result, [])
    expect(isError).toBe(true)
    expect(said).toMatch(/more than 2097152 characters/)
    expect(content).toEqual([text(said)])
  }
  expect(toToolAnswer({ content: [text(large.slice(100))] }, []).isError).toBe(false)
})

test('replaces secrets in text, data, keys and structured content', () => {
  const answer = toToolAnswer(
    {
      content: [text(`it is ${secret}, ${secret}`), { type: 'image', data: secret, [secret]: 1 }],
      structuredContent: { deep: [{ [secret]: `<${secret}>` }] },
    },
    ['another-secret', secret],
  )
  expect(answer).toEqual({
    content: [text('it is …, …'), { type: 'image', data: '…', '…': 1 }],
    structuredContent: { deep: [{ '…': '<…>' }] },
    isError: false,
    text: 'it is …, …',
  })
})

test('turns a server error into a result without secrets', () => {
  expect(answerError(`Bad token ${secret}`, [secret])).toEqual({
    content: [text('Bad token …')],
    isError: true,
    text: 'Bad token …',
  })
})

test('ignores secrets under six characters, which occur in ordinary words', () => {
  expect(new SecretFilter(['abcde']).clean({ a: 'abcde abcdef' })).toEqual({ a: 'abcde abcdef' })
  expect(new SecretFilter(['abcdef']).clean({ a: 'abcde abcdef' })).toEqual({ a: 'abcde …' })
})

test('secrets that are numbers, JSON fragments or prefixes of other values leave those values intact', () => {
  const value = { n: 1234567, list: [[[[[['x']]]]]], type: 'object', both: 'abcdefghij abcdef' }
  const secrets = ['123456', '"]]]]]]', 'abcdef', 'abcdefghij']
  expect(new SecretFilter(secrets).clean(value)).toEqual({ ...value, both: '… …' })
})

test('leaves a value without secrets unchanged', () => {
  const value = { a: [1, 'b'] }
  expect(new SecretFilter([secret]).clean(value)).toEqual(value)
})

test('no string of a result contains a secret, regardless of the surrounding text', () => {
  const visible = fc.stringMatching(/^[A-Za-z][!-~]{5,30}$/)
  fc.assert(
    fc.property(visible, fc.array(fc.string({ unit: 'binary' }), { minLength: 1 }), (given, around) => {
      const answer = toToolAnswer({ content: [text(around.join(given)), text(given)], structuredContent: around }, [
        given,
      ])
      const strings = [answer.text, ...answer.content.map((part) => String(part['text']))]
      for (const string of strings) expect(string).not.toContain(given)
    }),
    { numRuns: 300 },
  )
})
