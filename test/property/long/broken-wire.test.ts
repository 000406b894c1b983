import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CompletionInput } from '../../../server/edge/openai/input/completion-input.ts'
import { ResponseInput } from '../../../server/edge/openai/input/response-input.ts'
import { soon } from '../../chat/chat-checks.ts'
import { start, urlOf } from '../../openai/file-calls.ts'
import { openResources } from '../../support/resources.ts'
import { pdf, png } from '../../support/sample-files.ts'
import type { Answer } from '../../support/test-service.ts'
import { always } from '../checked-answers.ts'
import { jsonValue, text } from '../document-values.ts'

// Broken requests to the OpenAI-compatible API. Every error must have OpenAI's form and name an existing field. A
// rejection must charge nothing, hold nothing and write nothing.

const runs = 400

type Json = { [name: string]: unknown }
type Path = (string | number)[]
type Wire = Awaited<ReturnType<typeof start>>

const shared = { faults: [] } as unknown as {
  wire: Wire
  state: string
  sessionId: string
  responseId: string
  faults: unknown[]
}

beforeAll(async () => {
  const wire = await start({
    balanceUsd: '1000',
    contextTokens: 100_000,
    onFault: (fault) => shared.faults.push(fault),
  })
  // The leak check runs after every test, but these resources live until the last one.
  openResources.clear()
  const { body, status } = await wire.mine.post('/responses', { model: 'tells', input: 'Hello' })
  expect(status).toBe(200)
  const { conversation, id } = body
  Object.assign(shared, { wire, sessionId: conversation.id, responseId: id })
})
afterAll(() => shared.wire.stop())

/** Waits until nothing is in progress, and returns charges, holds and stored data. */
async function settled(): Promise<string> {
  const { mine, service } = shared.wire
  const held = async () => (await service.get('/api/account', mine.person.key)).body.heldUsd
  await expect.poll(held, soon).toBe('0.0000')
  // The service deletes a payload's row first and its content a little later.
  await expect
    .poll(async () => (await mine.payloads()).map((ids) => ids.toSorted().join(' ')), soon)
    .toSatisfy(areAlike)
  return await mine.state()
}

const areAlike = ([one, other]: string[]) => one === other

const words = text.map((said) => `a${said}`)
const image = urlOf(png())
const maybe = <Value>(values: fc.Arbitrary<Value>) => fc.option(values, { nil: undefined })
const metadata = fc.dictionary(fc.stringMatching(/^[a-z]{1,9}$/), fc.stringMatching(/^[a-z]{0,9}$/), { maxKeys: 3 })

const userContent = (of: 'completion' | 'response') =>
  fc.oneof(
    words,
    fc.array(
      fc.oneof(
        words.map((said) => ({ type: of === 'completion' ? 'text' : 'input_text', text: said })),
        fc.constant(
          of === 'completion'
            ? { type: 'image_url', image_url: { url: image, detail: 'auto' } }
            : { type: 'input_image', image_url: image, detail: 'auto' },
        ),
        fc.constant(urlOf(pdf, 'application/pdf')).map((data) => {
          const file = { filename: 'a.pdf', file_data: data }
          return of === 'completion' ? { type: 'file', file } : { type: 'input_file', ...file }
        }),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  )

const messages = (of: 'completion' | 'response') => {
  const ofUser = userContent(of).map((content) => ({ role: 'user', content }))
  const others = fc.tuple(fc.constantFrom('system', 'developer', 'assistant'), words).map(([role, content]) => ({
    ...(of === 'response' && { type: 'message' }),
    role,
    content,
  }))
  return fc
    .tuple(fc.array(fc.oneof(ofUser, others), { maxLength: 3 }), ofUser)
    .map(([before, last]) => [...before, last])
}

const common = {
  stream: maybe(fc.boolean()),
  temperature: maybe(fc.double({ min: 0, max: 2, noNaN: true }).map((value) => value + 0)),
  metadata: maybe(metadata),
  top_p: maybe(fc.constant(1)),
  tools: maybe(fc.constant([])),
  tool_choice: maybe(fc.constant('auto')),
  parallel_tool_calls: maybe(fc.boolean()),
}
const model = fc.constantFrom('tells', 'sees')
const limit = maybe(fc.integer({ min: 1, max: 100 }))

const completion = fc
  .record({
    ...common,
    model,
    messages: messages('completion'),
    max_tokens: limit,
    response_format: maybe(fc.constant({ type: 'text' })),
    stream_options: maybe(fc.constant({ include_usage: true })),
    n: maybe(fc.constant(1)),
    stop: maybe(fc.constant(null)),
    seed: maybe(fc.integer()),
  })
  .map(compact)

const response = fc
  .record({
    ...common,
    model,
    input: fc.oneof(words, messages('response')),
    instructions: maybe(words),
    max_output_tokens: limit,
    store: maybe(fc.boolean()),
    background: maybe(fc.boolean()),
    text: maybe(fc.constant({ format: { type: 'text' }, verbosity: 'low' })),
    truncation: maybe(fc.constant('disabled')),
    reasoning: maybe(fc.constant({ effort: 'low' })),
    previous_response_id: maybe(fc.constant(null)),
    conversation: maybe(fc.constant(null)),
  })
  .map(compact)

function compact(body: object): Json {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))
}

function pathsOf(value: unknown, path: Path = []): Path[] {
  const inner = Array.isArray(value)
    ? value.flatMap((item, index) => pathsOf(item, [...path, index]))
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, field]) => pathsOf(field, [...path, name]))
      : []
  return path.length === 0 ? inner : [path, ...inner]
}

type Change = (value: any) => unknown
const gone = Symbol('gone')

/** Returns a copy of the value with one part changed. */
function changed(value: any, [name, ...rest]: Path, change: Change): any {
  if (name === undefined) return change(value)
  const next = changed(value[name], rest, change)
  if (Array.isArray(value)) {
    const index = name as number
    return next === gone ? value.toSpliced(index, 1) : value.with(index, next)
  }
  const { [name]: _, ...others } = value
  return next === gone ? others : { ...others, [name]: next }
}

const oddTexts = fc.constantFrom(
  '',
  ' ',
  'data:',
  'data:,',
  'data:;base64,',
  'data:image/png;base64,',
  'data:image/png;base64,AAAA',
  'data:text/plain;base64,YQ==',
  'data:text/html,<p>',
  'data:image/png;base64;base64,AA==',
  'DATA:IMAGE/PNG;BASE64,AA==',
  'http://127.0.0.1/a.png',
  'file:///etc/passwd',
  'tells',
  'none',
  'user',
  'tool',
  'input_audio',
  'function_call',
  'item_reference',
  'reasoning',
  'resp_0',
  'ses_0',
  'constructor',
  'x'.repeat(70_000),
)
const names = fc.constantFrom('odd', 'constructor', 'toString', 'file_id', 'file_url', 'content', 'role', 'type', 'n')

const changes: fc.Arbitrary<Change> = fc.oneof(
  jsonValue.map(
    (value): Change =>
      () =>
        value,
  ),
  oddTexts.map(
    (value): Change =>
      () =>
        value,
  ),
  fc.constant<Change>(() => gone),
  fc.constant<Change>(() => null),
  fc.constantFrom<unknown>(-1, 0, 0.5, 3, 1e9, 1e308, true, [], {}, [[]], [null], [{}], 'auto', 'json_object').map(
    (value): Change =>
      () =>
        value,
  ),
  fc.tuple(names, jsonValue).map(([name, value]): Change => (of) => ({ ...Object(of), [name]: value })),
  fc.tuple(fc.nat(), fc.constantFrom('', '?', '\0', 'é', ',', ';')).map(([at, odd]): Change => (of) => {
    if (typeof of !== 'string') return [of, of]
    const place = at % (of.length + 1)
    return of.slice(0, place) + odd + of.slice(place + 1)
  }),
)

const broken = (bodies: fc.Arbitrary<Json>, limitName: string) => {
  const anywhere = fc.tuple(bodies, fc.nat(), changes).map(([body, nth, change]) => {
    const paths = pathsOf(body)
    return changed(body, paths[nth % paths.length]!, change) as Json
  })
  // Tested less often than the others, because the service rejects it only after it has created a session.
  const tooLong = fc
    .tuple(bodies, fc.constantFrom(1e6, 1e9))
    .map(([body, most]): Json => ({ ...body, [limitName]: most }))
  return fc.oneof({ weight: 9, arbitrary: anywhere }, { weight: 1, arbitrary: tooLong })
}

/** Whether the parameter that an error names exists in the body, at any depth, or is known to the operation. */
function exists(param: string, body: Json, known: readonly string[]): boolean {
  const segments = [...param.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, name]) => name ?? Number(index))
  const last = segments.at(-1)!
  let value: any = body
  for (const segment of segments.slice(0, -1)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return false
    value = value[segment]
  }
  if (segments.length > 1) return typeof last === 'string' || Object.hasOwn(Object(value), last)
  return Object.hasOwn(body, last) || known.includes(String(last))
}

function expectRefusal({ body: { error }, headers, status }: Answer, body: Json, known: readonly string[]): void {
  const said = JSON.stringify(error)
  expect(status, said).toBeOneOf([400, 404])
  expect(error, said).toEqual({
    message: expect.stringMatching(/\S/),
    type: 'invalid_request_error',
    param: expect.any(String),
    code: expect.stringMatching(/^[a-z_]+$/),
  })
  expect(exists(error.param, body, known), `${error.param} is a field`).toBe(true)
  expect(headers.get('x-should-retry')).toBe('false')
}

const operations = [
  ['/chat/completions', completion, Object.keys(CompletionInput.shape), 'max_tokens'],
  ['/responses', response, Object.keys(ResponseInput.shape), 'max_output_tokens'],
] as const

test.each(operations)('POST %s accepts well-formed requests', async (path, bodies) => {
  await always(40, bodies, async (body) => {
    const answer = await shared.wire.mine.post(path, body)
    // Only `store` and `background` may be the reason for a rejection, because requests with earlier messages cannot be
    // stored.
    const param = answer.body.error?.param
    if (answer.status !== 200) expect(param, JSON.stringify(answer.body)).toBeOneOf(['store', 'background'])
  })
  await settled()
})

test.each(operations)(
  'POST %s replies to a mutated request, or names the invalid field and changes nothing',
  async (path, bodies, known, limitName) => {
    const { mine } = shared.wire
    const seen = { refused: 0, replied: 0 }
    shared.state = await settled()
    await always(runs, broken(bodies, limitName), async (body) => {
      const answer = await mine.post(path, body)
      expect(shared.faults.splice(0), 'faults in the log').toEqual([])
      if (answer.status === 200) {
        seen.replied++
        shared.state = await settled()
        return
      }
      seen.refused++
      expectRefusal(answer, body, known)
      expect(await mine.state(), 'nothing was charged, held or written').toBe(shared.state)
    })
    expect(seen.refused, JSON.stringify(seen)).toBeGreaterThan(20)
    expect(seen.replied, JSON.stringify(seen)).toBeGreaterThan(5)
  },
)

test('rejects unknown response and conversation ids and names the parameter', async () => {
  const { mine, service } = shared.wire
  const { person } = mine
  shared.state = await settled()
  const id = fc.oneof(fc.stringMatching(/^resp_[0-9a-z]{0,40}$/), fc.stringMatching(/^[!-\-0-9A-Z_a-z~]{1,80}$/))
  await always(60, fc.tuple(id, fc.constantFrom('GET', 'DELETE', 'POST')), async ([unknown, method]) => {
    const path = `/v1/responses/${encodeURIComponent(unknown)}${method === 'POST' ? '/cancel' : ''}`
    const { body, status } = await service.request(method, path, { key: person.key })
    expect([status, body.error?.param], JSON.stringify(body)).toEqual([404, 'response_id'])
    for (const param of ['previous_response_id', 'conversation']) {
      const asked = await mine.post('/responses', { model: 'tells', input: 'a', [param]: unknown })
      expect([asked.status, asked.body.error?.param], JSON.stringify(asked.body)).toEqual([404, param])
    }
    expect(await mine.state()).toBe(shared.state)
  })
  const after = fc
    .oneof(fc.constantFrom('', '-1', '1.5', 'x', '1e3', '9'.repeat(30)), text)
    .filter((one) => !/^\d{1,9}$/.test(one))
  await always(40, after, async (one) => {
    const path = `/responses/${shared.responseId}?stream=true&starting_after=${encodeURIComponent(one)}`
    const { body, status } = await mine.get(path)
    expect([status, body.error?.param], JSON.stringify(body)).toEqual([400, 'starting_after'])
  })
})

test('the ledger balances after all these requests', async () => {
  await shared.wire.mine.expectSound()
})
