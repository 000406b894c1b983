import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect, test } from 'vitest'

import { filesIn, soon, startTalk } from '../../chat/chat-checks.ts'
import { start as startWithFiles, urlOf } from '../../openai/file-calls.ts'
import { say } from '../../support/chat-agents.ts'
import { pdf, png } from '../../support/sample-files.ts'
import type { Person, TestService } from '../../support/test-service.ts'
import { installTools } from '../install-tools.ts'

// OpenAI's own client against /v1, with only the base URL and the key changed. Calls are numbered, so that a missing
// one is noticed.

const callsMax = 29

let OpenAI: any

async function load(): Promise<void> {
  OpenAI ??= createRequire(join(await installTools('openai'), 'here.js'))('openai')
}

async function start({ balanceUsd = '10', executionsPerMinute = 0, maxRetries = 0 } = {}) {
  await load()
  const service = await startTalk({ limits: { executionsPerMinute } })
  const person = await service.createPerson({ balanceUsd })
  const client = new OpenAI({ apiKey: person.key, baseURL: `${service.url}/v1`, maxRetries })
  return { client, person, service }
}

const done = new Set<number>()
const call = async <Result>(number: number, make: () => Promise<Result>): Promise<Result> => {
  const result = await make()
  done.add(number)
  return result
}

const ask = (content: string) => ({ model: 'talk', messages: [{ role: 'user', content }] })

async function chargesOf(service: TestService, { key }: Person): Promise<any[]> {
  return (await service.get('/api/transactions?type=chat_charge', key)).body.transactions
}

async function expectSound({ app, get }: Pick<TestService, 'app' | 'get'>, { key }: Person): Promise<void> {
  await expect.poll(async () => (await get('/api/account', key)).body.heldUsd, soon).toBe('0.0000')
  expect(await app.store.verifyLedger()).toMatchObject({ ok: true, differences: [] })
}

async function refusal(make: () => Promise<unknown>): Promise<any> {
  return await make().then(
    () => expect.unreachable('the call is refused'),
    (error: unknown) => error,
  )
}

test('models and chat completions work with and without streaming and with helpers, and report their cost', async () => {
  const { client, person, service } = await start()
  const listed: any = await call(1, () => client.models.list())
  expect(listed.data.map(({ id }: any) => id)).toContain('talk')
  expect(await call(2, () => client.models.retrieve('talk'))).toMatchObject({ id: 'talk', object: 'model' })

  const whole: any = await call(3, () => client.chat.completions.create({ ...ask('Hello'), user: 'u', seed: 7 }))
  expect(whole.choices[0].message.content).toBe('You said: Hello')
  const [charge] = await chargesOf(service, person)
  expect(whole.usage.cost_usd).toBe(charge.amountUsd.slice(1))

  const text = await call(4, async () => {
    let said = ''
    for await (const chunk of await client.chat.completions.create({ ...ask('Hello'), stream: true })) {
      said += chunk.choices[0]?.delta.content ?? ''
    }
    return said
  })
  expect(text).toBe('You said: Hello')

  const usage = await call(5, async () => {
    const options = { stream: true, stream_options: { include_usage: true } }
    const chunks = []
    for await (const chunk of await client.chat.completions.create({ ...ask('Hello'), ...options })) chunks.push(chunk)
    return chunks.at(-1).usage
  })
  expect(usage).toEqual(whole.usage)

  const helper = client.chat.completions.stream(ask('Hello'))
  const final: any = await call(6, () => helper.finalChatCompletion())
  expect(final.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'You said: Hello' } })
  expect(await call(7, () => client.chat.completions.stream(ask('Hello')).finalContent())).toBe('You said: Hello')

  const { data, response }: any = await call(8, () => client.chat.completions.create(ask('Hello')).withResponse())
  expect(response.headers.get('errand-cost-usd')).toBe(data.usage.cost_usd)
  expect(await chargesOf(service, person)).toHaveLength(6)
  await expectSound({ app: service.app, get: service.get.bind(service) }, person)
  await service.stop()
})

test('errors have the right class, and the client retries only a rate limit', async () => {
  const { client, person, service } = await start({ maxRetries: 2 })
  const { APIError, AuthenticationError, BadRequestError, NotFoundError, InternalServerError, RateLimitError } = OpenAI
  const bad = await call(9, () => refusal(() => client.chat.completions.create({ ...ask('Hello'), n: 2 })))
  expect(bad).toBeInstanceOf(BadRequestError)
  expect([bad.param, bad.code, bad.type]).toEqual(['n', 'unsupported_parameter', 'invalid_request_error'])
  const stranger = new OpenAI({ apiKey: 'wrong', baseURL: `${service.url}/v1` })
  const unknown = await call(10, () => refusal(() => stranger.models.list()))
  expect(unknown).toBeInstanceOf(AuthenticationError)
  expect(unknown.code).toBe('invalid_api_key')
  const missing = await call(11, () =>
    refusal(() => client.chat.completions.create({ ...ask('Hello'), model: 'none' })),
  )
  expect(missing).toBeInstanceOf(NotFoundError)
  expect(missing.code).toBe('model_not_found')
  const reader = await service.createKey(person.userId, ['read'])
  const readOnly = new OpenAI({ apiKey: reader, baseURL: `${service.url}/v1` })
  const forbidden = await call(12, () => refusal(() => readOnly.chat.completions.create(ask('Hello'))))
  expect(forbidden).toBeInstanceOf(OpenAI.PermissionDeniedError)
  const { key } = await service.createPerson({ balanceUsd: '0' })
  const poor = new OpenAI({ apiKey: key, baseURL: `${service.url}/v1` })
  const unpaid = await call(13, () => refusal(() => poor.chat.completions.create(ask('Hello'))))
  expect(unpaid).toBeInstanceOf(APIError)
  expect([unpaid.status, unpaid.code]).toEqual([402, 'insufficient_quota'])
  const broken = say({ do: 'throw', message: 'It broke.' })
  const failed = await call(14, () => refusal(() => client.chat.completions.create(ask(broken))))
  expect(failed).toBeInstanceOf(InternalServerError)
  expect(failed.status).toBe(500)
  const late = say({ do: 'text', delta: 'Well' }, { do: 'throw', message: 'It broke.' })
  const inStream = await call(15, () =>
    refusal(async () => {
      for await (const _ of await client.chat.completions.create({ ...ask(late), stream: true })) continue
    }),
  )
  expect(inStream).toBeInstanceOf(APIError)
  expect(inStream.code).toBe('agent_error')
  expect(await chargesOf(service, person)).toEqual([])
  await service.stop()

  const slow = await start({ executionsPerMinute: 1 })
  await slow.client.chat.completions.create(ask('Hello'))
  const full = await call(16, () => refusal(() => slow.client.chat.completions.create(ask('Hello'))))
  expect(full).toBeInstanceOf(RateLimitError)
  expect(Number(full.headers.get('retry-after'))).toBeGreaterThan(0)
  await slow.service.stop()
})

test('a request retried after a timeout is paid once; an aborted one is stopped and settled', async () => {
  const { person, service } = await start()
  const files = filesIn(service)
  const begun = files('begun')
  const client = new OpenAI({ apiKey: person.key, baseURL: `${service.url}/v1`, maxRetries: 3, timeout: 700 })
  const message = say({ do: 'wait', ms: 1500 }, { do: 'text', delta: 'At last' })
  const slow: any = await call(17, () => client.chat.completions.create(ask(message)))
  expect(slow.choices[0].message.content).toBe('At last')
  expect(await chargesOf(service, person)).toHaveLength(1)
  const steps = say({ do: 'text', delta: 'Begun' }, { do: 'touch', file: begun }, { do: 'await-abort' })
  const aborted = await call(18, () =>
    refusal(async () => {
      const stream = await client.chat.completions.create({ ...ask(steps), stream: true }, { timeout: 60_000 })
      for await (const chunk of stream) {
        if (chunk.choices[0].delta.content === 'Begun') break
      }
      await expectSound({ app: service.app, get: service.get.bind(service) }, person)
      throw new Error('aborted')
    }),
  )
  expect(aborted.message).toBe('aborted')
  expect(await chargesOf(service, person)).toHaveLength(2)
  await service.stop()
})

test('images and files of messages reach the model; a remote file is rejected with its field name', async () => {
  await load()
  const { mine, provider, service, stop } = await startWithFiles()
  const { person } = mine
  const client = new OpenAI({ apiKey: person.key, baseURL: `${service.url}/v1`, maxRetries: 2 })
  const url = urlOf(png())
  const sent = { type: 'image_url', image_url: { url } }
  const question = { type: 'text', text: 'What is this?' }
  const messages = [{ role: 'user', content: [question, sent] }]
  const seen: any = await call(25, () => client.chat.completions.create({ model: 'sees', messages }))
  expect(seen.choices[0].message.content).toBe('A grey field.')
  expect(provider.bodies[0].messages).toEqual(messages)
  const content = [
    { type: 'input_text', text: 'And these?' },
    { type: 'input_image', image_url: url, detail: 'auto' },
    { type: 'input_file', filename: 'a.pdf', file_data: urlOf(pdf, 'application/pdf') },
  ]
  const told: any = await call(26, () =>
    client.responses.create({ model: 'tells', input: [{ role: 'user', content }], store: false }),
  )
  const listed = `And these?|undefined:image/png:${png().length}|a.pdf:application/pdf:${pdf.length}`
  expect(told.output_text).toBe(`And these? <${listed}>`)
  const remote = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }] }]
  const refused = await call(27, () =>
    refusal(() => client.chat.completions.create({ model: 'sees', messages: remote })),
  )
  expect(refused).toBeInstanceOf(OpenAI.BadRequestError)
  expect([refused.param, refused.code]).toEqual(['messages[0].content[0].image_url.url', 'unsupported_value'])
  expect(await chargesOf(service, person)).toHaveLength(2)
  await mine.expectNoPayload()
  await expectSound({ app: service.app, get: service.get.bind(service) }, person)
  await stop()
})

test('sampling parameters of OpenAI and other servers reach the model through both endpoints', async () => {
  await load()
  const { mine, provider, service, stop } = await startWithFiles()
  const { person } = mine
  const client = new OpenAI({ apiKey: person.key, baseURL: `${service.url}/v1`, maxRetries: 0 })
  const ofOpenAi = { top_p: 0.5, presence_penalty: 0.25, frequency_penalty: -0.5, seed: 7, stop: ['End'] }
  const sampling = { ...ofOpenAi, logit_bias: { 50256: -100 }, min_p: 0.05, top_k: 40, repetition_penalty: 1.1 }
  const ofSees = { ...sampling, model: 'sees' }
  const said = await call(28, async () => {
    let text = ''
    const messages = [{ role: 'user', content: 'Hello' }]
    const stream = await client.chat.completions.create({ ...ofSees, messages, stream: true })
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    return text
  })
  const response: any = await call(29, () => client.responses.create({ ...ofSees, input: 'Hello' }))
  expect([said, response.output_text]).toEqual(['A grey field.', 'A grey field.'])
  expect(provider.bodies).toHaveLength(2)
  for (const body of provider.bodies) expect(body).toMatchObject(sampling)
  const told: any = await client.responses.create({ ...sampling, model: 'tells', input: 'Hello' })
  expect(told.output_text).toBe('Hello <>')
  await expectSound({ app: service.app, get: service.get.bind(service) }, person)
  await stop()
})

test('responses can be created, streamed, read, streamed again, canceled, and run in the background', async () => {
  const { client, person, service } = await start()
  const of = (input: string) => ({ model: 'talk', input })
  const first: any = await call(19, () => client.responses.create({ ...of('Hello'), instructions: 'Be brief.' }))
  expect([first.status, first.output_text]).toEqual(['completed', 'You said: Hello'])
  const types = await call(20, async () => {
    const seen: string[] = []
    const stream = await client.responses.create({ ...of('Hello'), stream: true, previous_response_id: first.id })
    for await (const event of stream) seen.push(event.type)
    return seen
  })
  expect(types).toContain('response.output_text.delta')
  expect(types.at(-1)).toBe('response.completed')
  const thought = say({ do: 'reasoning', delta: 'Hm' }, { do: 'text', delta: 'Hello' })
  const final: any = await call(21, () => client.responses.stream(of(thought)).finalResponse())
  expect(final.output_text).toBe('Hello')
  expect(final.output[0]).toMatchObject({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }] })
  const read: any = await call(22, () => client.responses.retrieve(first.id))
  expect([read.id, read.output_text, read.usage]).toEqual([first.id, first.output_text, first.usage])
  const wait = say({ do: 'text', delta: 'Begun' }, { do: 'await-abort' })
  const background: any = await client.responses.create({ ...of(wait), background: true })
  expect(background.status).toBe('in_progress')
  const canceled: any = await call(23, () => client.responses.cancel(background.id))
  expect(canceled.status).toBe('cancelled')
  const behind = await call(24, async () => {
    const slow = say({ do: 'text', delta: 'a' }, { do: 'wait', ms: 200 }, { do: 'text', delta: 'b' })
    const { id }: any = await client.responses.create({ ...of(slow), background: true })
    let text = ''
    for await (const event of await client.responses.retrieve(id, { stream: true })) {
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    return { text, read: await client.responses.retrieve(id) }
  })
  expect([behind.text, behind.read.output_text]).toEqual(['ab', 'ab'])
  await expectSound({ app: service.app, get: service.get.bind(service) }, person)
  await service.stop()
  expect([...done].toSorted((a, b) => a - b)).toEqual(Array.from({ length: callsMax }, (_, index) => index + 1))
})
