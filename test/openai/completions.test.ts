import { expect, test } from 'vitest'
import { say } from '../support/chat-agents.ts'
import { startTalk } from '../chat/chat-checks.ts'
import { readSse, user, WireCalls } from './wire-calls.ts'

async function start() {
  const service = await startTalk()
  const calls = async (balanceUsd = '10') => new WireCalls(service, await service.createPerson({ balanceUsd }))
  return { service, calls, mine: await calls() }
}

test('lists as models the agents that the caller may chat with', async () => {
  const { mine, service } = await start()
  const { body, status } = await mine.get('/models')
  expect([status, body.object]).toEqual([200, 'list'])
  expect(body.data.map(({ id }: any) => id)).toEqual(['talk', 'quiet', 'forgetful', 'free', 'tools', 'nothing'])
  expect(body.data[0]).toMatchObject({ object: 'model', owned_by: 'errand', max_output_tokens: 1000 })
  expect((await mine.get('/models/talk')).body).toEqual(body.data[0])
  for (const model of ['secret', 'work', 'unknown']) {
    const refused = await mine.get(`/models/${model}`)
    expect([refused.status, refused.body.error.code], model).toEqual([404, 'model_not_found'])
  }
  await service.stop()
})

test('a completion answers the last message, states its cost, and stores only its receipt', async () => {
  const { mine, service } = await start()
  const { body, headers, status } = await mine.complete('Hello')
  expect(status).toBe(200)
  expect(body).toMatchObject({ object: 'chat.completion', model: 'talk' })
  expect(body.choices).toEqual([
    {
      index: 0,
      message: { role: 'assistant', content: 'You said: Hello', refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ])
  const [charge, ...others] = await mine.charges()
  expect(others).toEqual([])
  expect(body.usage).toMatchObject({
    prompt_tokens: charge.breakdown.promptTokens,
    completion_tokens: charge.breakdown.completionTokens,
    cost_usd: charge.amountUsd.slice(1),
  })
  expect([headers.get('errand-turn-id'), headers.get('errand-cost-usd')]).toEqual([charge.turnId, body.usage.cost_usd])
  expect(body.id).toBe(charge.turnId.replace('turn_', 'chatcmpl-'))
  expect(await mine.sessions()).toEqual([])
  await mine.expectSound()
  await service.stop()
})

test('passes earlier messages on, system messages first, and charges them as part of the prompt', async () => {
  const { mine, service } = await start()
  const messages = [
    user('One'),
    { role: 'assistant', content: [{ type: 'text', text: 'Two' }] },
    { role: 'developer', content: 'Be brief.' },
    user([{ type: 'text', text: say({ do: 'tell', what: 'history' }) }]),
  ]
  const { body } = await mine.post('/chat/completions', { model: 'talk', messages })
  expect(JSON.parse(body.choices[0].message.content)).toEqual([
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'One' },
    { role: 'assistant', content: 'Two' },
  ])
  const alone = await mine.complete(say({ do: 'tell', what: 'history' }))
  expect(body.usage.prompt_tokens).toBe(alone.body.usage.prompt_tokens + 1 + 1 + 3)
  await mine.expectSound()
  await service.stop()
})

test('streams chunks with one id, separate reasoning, no tools, and usage on request', async () => {
  const { mine, service } = await start()
  const steps = say(
    { do: 'reasoning', delta: 'Hm "so"' },
    { do: 'text', delta: 'a\n' },
    { do: 'call', id: '1' },
    { do: 'result', id: '1', output: { delta: 'no' } },
    { do: 'text', delta: '€"\\', times: 2 },
  )
  const { body, headers, status } = await mine.complete(steps, {
    stream: true,
    stream_options: { include_usage: true },
  })
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  const events = readSse(body)
  expect(events.at(-1)!.data).toBe('[DONE]')
  const chunks = events.slice(0, -1).map(({ data }) => data)
  expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
  expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '' })
  const joined = (field: string) => chunks.map(({ choices }) => choices[0]?.delta[field] ?? '').join('')
  expect([joined('content'), joined('reasoning_content')]).toEqual(['a\n€"\\€"\\', 'Hm "so"'])
  expect(chunks.at(-2).choices[0]).toEqual({ index: 0, delta: {}, logprobs: null, finish_reason: 'stop' })
  const [charge] = await mine.charges()
  expect(chunks.at(-1)).toMatchObject({
    choices: [],
    usage: { tool_calls: 1, cost_usd: charge.amountUsd.slice(1), completion_tokens_details: { reasoning_tokens: 4 } },
  })
  expect(headers.get('errand-turn-id')).toBe(charge.turnId)
  const without = readSse((await mine.complete('Hello', { stream: true })).body)
  expect(without.filter(({ data }) => 'usage' in Object(data))).toEqual([])
  await mine.expectSound()
  await service.stop()
})

test('Errand-Session continues a session and adds only the last message', async () => {
  const { calls, mine, service } = await start()
  const created = await service.post('/api/sessions', { agentId: 'talk' }, { key: mine.person.key })
  const { sessionId } = created.body
  const headers = { 'Errand-Session': sessionId }
  await mine.complete('First', {}, headers)
  const messages = [user('Made up'), { role: 'assistant', content: 'Too' }, user(say({ do: 'tell', what: 'history' }))]
  const { body } = await mine.post('/chat/completions', { model: 'talk', messages }, headers)
  expect(JSON.parse(body.choices[0].message.content)).toEqual([
    { role: 'user', content: 'First' },
    { role: 'assistant', content: 'You said: First' },
  ])
  expect((await service.get(`/api/sessions/${sessionId}`, mine.person.key)).body.messageCount).toBe(4)
  const other = await mine.complete('Hello', { model: 'quiet' }, headers)
  expect([other.status, other.body.error.param]).toEqual([400, 'model'])
  const stranger = await (await calls()).complete('Hello', {}, headers)
  const unknown = await mine.complete('Hello', {}, { 'Errand-Session': 'ses_0' })
  expect([stranger.status, stranger.body]).toEqual([unknown.status, unknown.body])
  expect(stranger.status).toBe(404)
  await mine.expectSound()
  await service.stop()
})

const bad: [string, object, string, string?][] = [
  ['no messages', { messages: [] }, 'messages'],
  ['messages that are none', { messages: 'Hello' }, 'messages'],
  ['a last message of the assistant', { messages: [user('a'), { role: 'assistant', content: 'b' }] }, 'messages'],
  ['a role that is unknown', { messages: [{ role: 'cook', content: 'a' }] }, 'messages[0].role'],
  [
    'the result of a tool',
    { messages: [{ role: 'tool', content: 'a' }, user('a')] },
    'messages[0].role',
    'unsupported_value',
  ],
  [
    'an image',
    { messages: [user([{ type: 'image_url', image_url: { url: 'data:' } }])] },
    'messages[0].content[0]',
    'unsupported_value',
  ],
  ['an empty text', { messages: [user('')] }, 'messages[0].content'],
  ['two choices', { n: 2 }, 'n', 'unsupported_parameter'],
  ['tools of the client', { tools: [{ type: 'function' }] }, 'tools', 'unsupported_parameter'],
  ['logprobs', { logprobs: true }, 'logprobs', 'unsupported_parameter'],
  [
    'a format of a code agent',
    { response_format: { type: 'json_object' } },
    'response_format',
    'unsupported_parameter',
  ],
  ['audio', { audio: { voice: 'alloy' } }, 'audio', 'unsupported_parameter'],
  ['a top_p above 1', { top_p: 1.5 }, 'top_p'],
  ['five stop sequences', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
  ['a penalty below -2', { presence_penalty: -3 }, 'presence_penalty'],
  ['a temperature that is none', { temperature: 3 }, 'temperature'],
  ['a parameter that nobody knows', { nonsense: 1 }, 'nonsense', 'unknown_parameter'],
  ['a stream that is none', { stream: 'yes' }, 'stream'],
]
test('rejects unsupported and unknown parameters with 400, and names them', async () => {
  const { mine, service } = await start()
  for (const [what, more, param, code = 'invalid_value'] of bad) {
    const { body, headers, status } = await mine.complete('Hello', more)
    const { error } = body
    expect([status, error.type, error.param, error.code], what).toEqual([400, 'invalid_request_error', param, code])
    expect(headers.get('x-should-retry')).toBe('false')
  }
  expect(await mine.charges()).toEqual([])
  await service.stop()
})

test('accepts parameters that change nothing', async () => {
  const { mine, service } = await start()
  const more = { n: 1, top_p: 1, user: 'u', seed: 1, metadata: { a: 'b' }, store: false, tools: [], stop: null }
  expect((await mine.complete('Hello', { ...more, max_completion_tokens: 50, temperature: 0 })).status).toBe(200)
  await service.stop()
})

test('each rejection has its status and code, and tells clients not to retry if that cannot succeed', async () => {
  const { calls, mine, service } = await start()
  const poor = await (await calls('0')).complete('Hello')
  expect([poor.status, poor.body.error.type, poor.body.error.code]).toEqual([
    402,
    'insufficient_quota',
    'insufficient_quota',
  ])
  expect(poor.headers.get('x-should-retry')).toBe('false')
  const unknown = await mine.complete('Hello', { model: 'unknown' })
  expect([unknown.status, unknown.body.error.param, unknown.body.error.code]).toEqual([404, 'model', 'model_not_found'])
  const stranger = await service.post('/v1/chat/completions', {})
  expect([stranger.status, stranger.body.error.code]).toEqual([401, 'invalid_api_key'])
  const failed = await mine.complete(say({ do: 'throw', message: 'It broke.' }))
  expect([failed.status, failed.body.error]).toMatchObject([500, { code: 'agent_error', message: 'It broke.' }])
  expect(failed.headers.get('x-should-retry')).toBe('false')
  const nothing = await mine.get('/nothing')
  expect([nothing.status, nothing.body.error.code]).toEqual([404, 'not_found'])
  const method = await mine.get('/chat/completions')
  expect([method.status, method.body.error.code]).toEqual([405, 'method_not_allowed'])
  expect(await mine.charges()).toEqual([])
  await mine.expectSound()
  await service.stop()
})

test("rejects a history beyond the agent's context, and an oversized body", async () => {
  const { mine, service } = await start()
  const long = await mine.complete('Hello', { model: 'forgetful', messages: [user('x'.repeat(500)), user('Hello')] })
  expect([long.status, long.body.error.param]).toEqual([400, 'messages'])
  const huge = await mine.complete('Hello', { messages: [user('x'.repeat(10_000_000)), user('Hello')] })
  expect([huge.status, huge.body.error.param]).toEqual([400, 'messages'])
  expect(await mine.charges()).toEqual([])
  await service.stop()
})

test('a reply that fails midway ends its stream with an error', async () => {
  const { mine, service } = await start()
  const steps = say({ do: 'text', delta: 'Well' }, { do: 'throw', message: 'It broke.' })
  const events = readSse((await mine.complete(steps, { stream: true })).body)
  expect(events.at(-2)!.data.error).toMatchObject({ code: 'agent_error', message: 'It broke.' })
  expect(events.at(-1)!.data).toBe('[DONE]')
  await mine.expectSound()
  await service.stop()
})

test('a reply cut off by the balance is charged, and ends with the reason length', async () => {
  const { calls, service } = await start()
  const mine = await calls('0.3')
  const { body, status } = await mine.complete(
    say({ do: 'text', delta: 'x'.repeat(100) }, { do: 'wait', ms: 100 }, { do: 'flood', times: 3000, delta: 'y' }),
  )
  expect(status).toBe(200)
  expect(body.choices[0].finish_reason).toBe('length')
  const [charge] = await mine.charges()
  expect(body.usage.cost_usd).toBe(charge.amountUsd.slice(1))
  await mine.expectSound()
  await service.stop()
})
