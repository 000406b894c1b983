import { expect, test } from 'vitest'
import { z } from 'zod'
import { startTalk } from '../chat/chat-checks.ts'
import { readSse, user, WireCalls } from './wire-calls.ts'

// The requests of Open Responses' compliance tests, and the fields that its specification demands of an answer. Of its seven,
// four are answered; two need tools of the client, and one an image, and these are refused by name.

const index = z.number().int()
const text = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()),
  logprobs: z.array(z.unknown()),
})
const status = z.enum(['in_progress', 'completed', 'incomplete'])
const item = z.object({
  type: z.literal('message'),
  id: z.string(),
  status,
  role: z.literal('assistant'),
  content: z.array(text),
})
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
const event = z.discriminatedUnion('type', [
  ...(['created', 'in_progress', 'completed'] as const).map((type) =>
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
] as any)

const message = (role: string, content: unknown) => ({ type: 'message', role, content })

test('basic text, a system prompt and a conversation of several turns are answered in full form', async () => {
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

test('every event of a stream is in full form', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const { body } = await mine.respond([message('user', 'Count from 1 to 5.')], { stream: true })
  const events = readSse(body).slice(0, -1)
  for (const { data } of events) event.parse(data)
  expect(events.at(-1)!.data.response.status).toBe('completed')
  await service.stop()
})

test('what needs tools of the client, or an image, is refused by the name of its parameter', async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} } }]
  for (const stream of [false, true]) {
    const { body, status: answered } = await mine.respond([message('user', 'How is the weather?')], { tools, stream })
    expect([answered, body.error.param, body.error.code]).toEqual([400, 'tools', 'unsupported_parameter'])
  }
  const image = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
  const { body, status: answered } = await mine.respond([{ type: 'message', ...user([image]) }])
  expect([answered, body.error.param]).toEqual([400, 'input[0].content[0]'])
  await service.stop()
})
