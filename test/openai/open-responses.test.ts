import { expect, test } from 'vitest'
import { z } from 'zod'
import { startTalk } from '../chat/chat-checks.ts'
import { say, type Step } from '../support/chat-agents.ts'
import { png } from '../support/sample-files.ts'
import { image, start, urlOf } from './file-calls.ts'
import { readSse, WireCalls } from './wire-calls.ts'

// Sends the requests of Open Responses' compliance tests over HTTP, and checks the response fields that its
// specification requires. The service rejects requests with client tools; docs/guides/openai.md lists other unsupported
// parts.

const index = z.number().int()
const text = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs: z.array(z.unknown()),
})
const status = z.enum(['in_progress', 'completed', 'incomplete'])
const summary = z.object({ type: z.literal('summary_text'), text: z.string() })
const item = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    id: z.string(),
    status,
    role: z.literal('assistant'),
    content: z.array(text),
  }),
  z.object({ type: z.literal('reasoning'), id: z.string(), status, summary: z.array(summary) }),
])
const usage = z.object({
  input_tokens: index,
  output_tokens: index,
  total_tokens: index,
  input_tokens_details: z.object({ cached_tokens: index }),
  output_tokens_details: z.object({ reasoning_tokens: index }),
})
const response = z.object({
  id: z.string(),
  object: z.literal('response'),
  created_at: index,
  completed_at: index.nullable(),
  status: z.string(),
  incomplete_details: z.object({ reason: z.string() }).nullable(),
  model: z.string(),
  previous_response_id: z.string().nullable(),
  instructions: z.string().nullable(),
  output: z.array(item),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  tools: z.array(z.unknown()),
  tool_choice: z.literal('auto'),
  truncation: z.literal('disabled'),
  parallel_tool_calls: z.boolean(),
  text: z.object({ format: z.object({ type: z.literal('text') }) }),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: index,
  temperature: z.number(),
  reasoning: z.null(),
  usage: usage.nullable(),
  max_output_tokens: index.nullable(),
  max_tool_calls: index.nullable(),
  store: z.boolean(),
  background: z.boolean(),
  service_tier: z.string(),
  metadata: z.record(z.string(), z.string()),
  safety_identifier: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
})

const place = { sequence_number: index, output_index: index }
const within = { ...place, item_id: z.string(), content_index: index }
const withinSummary = { ...place, item_id: z.string(), summary_index: index }
const event = z.discriminatedUnion('type', [
  ...(['created', 'in_progress', 'completed', 'incomplete', 'failed'] as const).map((type) =>
    z.object({ type: z.literal(`response.${type}`), sequence_number: index, response }),
  ),
  z.object({ type: z.literal('response.output_item.added'), ...place, item }),
  z.object({ type: z.literal('response.output_item.done'), ...place, item }),
  z.object({ type: z.literal('response.content_part.added'), ...within, part: text }),
  z.object({ type: z.literal('response.content_part.done'), ...within, part: text }),
  z.object({
    type: z.literal('response.output_text.delta'),
    ...within,
    delta: z.string(),
    logprobs: z.array(z.unknown()),
  }),
  z.object({
    type: z.literal('response.output_text.done'),
    ...within,
    text: z.string(),
    logprobs: z.array(z.unknown()),
  }),
  z.object({ type: z.literal('response.reasoning_summary_part.added'), ...withinSummary, part: summary }),
  z.object({ type: z.literal('response.reasoning_summary_part.done'), ...withinSummary, part: summary }),
  z.object({ type: z.literal('response.reasoning_summary_text.delta'), ...withinSummary, delta: z.string() }),
  z.object({ type: z.literal('response.reasoning_summary_text.done'), ...withinSummary, text: z.string() }),
] as any)

const message = (role: string, content: unknown) => ({ type: 'message', role, content })

test('text, a system prompt and a longer conversation each get a complete response object', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const inputs = [
    [message('user', 'Say hello in three words.')],
    [message('system', 'Speak as a pirate.'), message('user', 'Say hello.')],
    [message('user', 'I am Alice.'), message('assistant', 'Hello Alice!'), message('user', 'Who am I?')],
  ]
  for (const input of inputs) {
    const { body, status: answered } = await mine.respond(input, { stream: false })
    expect(answered).toBe(200)
    const parsed = response.parse(body)
    expect([parsed.status, parsed.output.length]).toEqual(['completed', 1])
  }
  await service.stop()
})

test('accepts phase labels in assistant messages', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const said = (phase: string, content: string) => ({ ...message('assistant', content), phase })
  const input = [said('commentary', 'I count.'), said('final_answer', 'Four.'), message('user', 'Again?')]
  const { body, status: answered } = await mine.respond(input, { stream: false })
  expect([answered, response.parse(body).status]).toEqual([200, 'completed'])
  await service.stop()
})

test('accepts its own output as input again, but passes no reasoning to the agent', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const first = message('user', say({ do: 'reasoning', delta: 'Hm' }, { do: 'text', delta: 'Two' }))
  const { output } = (await mine.respond([first], { store: false })).body
  expect(output.map(({ type }: any) => type)).toEqual(['reasoning', 'message'])
  const input = [first, ...output, message('user', say({ do: 'tell', what: 'history' }))]
  const { body, status: answered } = await mine.respond(input)
  expect(answered, JSON.stringify(body)).toBe(200)
  expect(JSON.parse(body.output[0].content[0].text)).toEqual([
    { role: 'user', content: first.content },
    { role: 'assistant', content: 'Two' },
  ])
  await service.stop()
})

test('an image gets a complete response object', async () => {
  const { mine, stop } = await start()
  const question = { type: 'input_text', text: 'What do you see?' }
  const { body, status: answered } = await mine.respondWith([question, image(urlOf(png(32, 32)), 'input_image')])
  expect([answered, response.parse(body).status]).toEqual([200, 'completed'])
  await stop()
})

const ends: [string, Step[], object, string, string[]][] = [
  ['complete', [{ do: 'text', delta: 'Hello' }], {}, 'completed', ['completed']],
  [
    'complete, with reasoning and tool calls between texts',
    [
      { do: 'reasoning', delta: 'Hm' },
      { do: 'text', delta: 'a' },
      { do: 'call', id: '1' },
      { do: 'result', id: '1', output: {} },
      { do: 'reasoning', delta: 'So' },
      { do: 'text', delta: 'b' },
    ],
    {},
    'completed',
    ['completed', 'completed', 'completed', 'completed'],
  ],
  [
    'cut off',
    [
      { do: 'reasoning', delta: 'Hm' },
      { do: 'text', delta: 'a long text' },
    ],
    { max_output_tokens: 1 },
    'incomplete',
    ['completed', 'incomplete'],
  ],
  [
    'failed',
    [
      { do: 'reasoning', delta: 'Hm' },
      { do: 'text', delta: 'a' },
      { do: 'throw', message: 'It broke.' },
    ],
    {},
    'failed',
    ['completed', 'incomplete'],
  ],
]

test.each(ends)(
  'every event is well-formed, and only the last item can be incomplete, in a stream that is %s',
  async (_what, steps, more, end, statuses) => {
    const service = await startTalk()
    const mine = new WireCalls(service, await service.createPerson())
    const { body } = await mine.respond([message('user', say(...steps))], { stream: true, ...more })
    const events = readSse(body).slice(0, -1)
    for (const { data } of events) event.parse(data)
    const last = events.at(-1)!.data
    expect([last.type, last.response.status]).toEqual([`response.${end}`, end])
    expect(last.response.output.map((one: any) => one.status)).toEqual(statuses)
    const done = events.filter(({ event: type }) => type === 'response.output_item.done')
    expect(done.map(({ data }) => data.item)).toEqual(last.response.output)
    await service.stop()
  },
)

test('rejects requests with client tools, and names the parameter', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }]
  for (const stream of [false, true]) {
    const { body, status: answered } = await mine.respond([message('user', 'How is the weather?')], { tools, stream })
    expect([answered, body.error.param, body.error.code]).toEqual([400, 'tools', 'unsupported_parameter'])
  }
  await service.stop()
})
