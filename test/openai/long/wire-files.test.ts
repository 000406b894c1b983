import { expect, test } from 'vitest'
import { unitsOf } from '../../chat/chat-checks.ts'
import { agentAt, replyWith, startAgentService } from '../../runner/agent-service.ts'
import { reply, replyThen } from '../../support/model-provider.ts'
import { jpeg, pdf, png } from '../../support/sample-files.ts'
import { startService } from '../../support/test-service.ts'
import { accepts, rates } from '../../support/file-agents.ts'
import { asked, file, FileCalls, image, inputFile, start, text, urlOf } from '../file-calls.ts'
import { readSse, user } from '../wire-calls.ts'

test("a completion sends its image unchanged, charges the provider's count and leaves no file", async () => {
  const { mine, provider, stop } = await start()
  const url = urlOf(png())
  const content = [text('What is'), image(url), text('this '), text('one?')]
  const { body, status } = await mine.completeWith(content)
  expect([status, body.choices[0].message.content]).toEqual([200, 'A grey field.'])
  // 1,234 tokens at 0.1 and 5 at 0.2 per thousand.
  expect(body.usage).toMatchObject({ prompt_tokens: 1234, cost_usd: '0.1244' })
  const sent = { type: 'image_url', image_url: { url } }
  expect(provider.bodies[0].messages).toEqual([{ role: 'user', content: [text('What is'), sent, text('this one?')] }])
  expect(await mine.charges()).toMatchObject([{ amountUsd: '-0.1244' }])
  expect(await mine.sessions()).toEqual([])
  await mine.expectNoPayload()

  const streamed = await mine.completeWith([image(url)], 'sees', { stream: true })
  const chunks = readSse(streamed.body).slice(0, -1)
  expect(chunks.map(({ data }) => data.choices[0]?.delta.content ?? '').join('')).toBe('A grey field.')
  await mine.expectNoPayload()
  await mine.expectSound()
  await stop()
})

test('a conversation sent in full includes the files of earlier messages, with hold and charge', async () => {
  const { mine, provider, stop } = await start()
  const [first, second] = [urlOf(png()), urlOf(jpeg(), 'image/jpeg')]
  let held = 0
  provider.play(async (response, request) => {
    held = unitsOf((await mine.service.get('/api/account', mine.person.key)).body.heldUsd)
    await reply({ text: ['Both grey.'] })(response, request)
  })
  const messages = [
    user([text('What is this?'), image(first)]),
    { role: 'assistant', content: 'A grey field.' },
    user([text('And this?'), image(second)]),
  ]
  const whole = await mine.post('/chat/completions', { model: 'sees', messages })
  expect(whole.status, JSON.stringify(whole.body)).toBe(200)
  expect(provider.bodies[0].messages).toMatchObject([
    { role: 'user', content: [text('What is this?'), { image_url: { url: first } }] },
    { role: 'assistant', content: 'A grey field.' },
    { role: 'user', content: [text('And this?'), { image_url: { url: second } }] },
  ])
  // Twice 2,000 tokens.
  expect(held).toBeGreaterThanOrEqual(unitsOf('0.4000'))
  await mine.expectNoPayload()

  const items = [
    user([text('One', 'input_text'), inputFile({ file_data: urlOf(pdf, 'application/pdf'), filename: 'a.pdf' })]),
    { type: 'message', role: 'assistant', content: [text('Two', 'output_text')] },
    user([text('Three', 'input_text'), image(first, 'input_image')]),
  ]
  const response = await mine.post('/responses', { model: 'tells', input: items, instructions: 'Be brief.' })
  const listed = `Three <Three|undefined:image/png:${png().length}> <One|a.pdf:application/pdf:${pdf.length}>`
  expect([response.status, response.body.output[0].content[0].text]).toEqual([200, listed])
  expect(response.body.store).toBe(false)
  await mine.expectNoPayload()
  await mine.expectSound()
  await stop()
})

test('a stored response keeps its file for the next response until its session is deleted', async () => {
  const { mine, provider, service, stop } = await start()
  const url = urlOf(png())
  const first = await mine.respondWith([text('What is this?', 'input_text'), image(url, 'input_image')])
  expect(first.status, JSON.stringify(first.body)).toBe(200)
  const sessionId = first.body.conversation.id
  const { messages } = (await service.get(`/api/sessions/${sessionId}/messages`, mine.person.key)).body
  expect(messages[0].parts).toMatchObject([{ type: 'text' }, { type: 'file', mediaType: 'image/png' }])
  expect((await mine.payloads()).map(({ length }) => length)).toEqual([1, 1])
  const loaded = await fetch(messages[0].parts[1].url)
  expect(Buffer.from(await loaded.arrayBuffer()).equals(png())).toBe(true)

  provider.play(reply({ text: ['Still grey.'] }))
  const next = { model: 'sees', previous_response_id: first.body.id, input: 'And now?' }
  const second = await mine.post('/responses', next)
  expect(second.status, JSON.stringify(second.body)).toBe(200)
  expect(provider.bodies[0].messages[0].content[1]).toEqual({ type: 'image_url', image_url: { url } })

  // In a session only the last message counts.
  const headers = { 'Errand-Session': sessionId }
  const sent = [user([image(urlOf(png(9, 9)))]), user([image(urlOf(png(8, 8)))])]
  const third = await mine.post('/chat/completions', { model: 'sees', messages: sent }, headers)
  expect(third.status, JSON.stringify(third.body)).toBe(200)
  expect((await mine.payloads()).map(({ length }) => length)).toEqual([2, 2])

  const deleted = await service.request('DELETE', `/api/sessions/${sessionId}`, { key: mine.person.key })
  expect(deleted.status).toBe(200)
  await mine.expectNoPayload()
  await mine.expectSound()
  await stop()
})

test('a failed reply leaves no file, and neither does a response with `store: false`', async () => {
  const { mine, stop } = await start()
  for (const path of ['/chat/completions', '/responses']) {
    const content = [text('Fail'), image(urlOf(png()))]
    const failed = await mine.post(path, { model: 'tells', ...asked(path, content) })
    expect([failed.status, failed.body.error.code], JSON.stringify(failed.body)).toEqual([500, 'agent_error'])
    await mine.expectNoPayload()
  }
  const unkept = await mine.respondWith([image(urlOf(png()), 'input_image')], 'tells', { store: false })
  expect([unkept.status, unkept.body.store]).toEqual([200, false])
  await mine.expectNoPayload()
  expect(await mine.sessions()).toEqual([])
  await mine.expectSound()
  await stop()
})

test('accepts an image of the maximum file size', async () => {
  const { mine, provider, stop } = await start()
  const url = urlOf(Buffer.concat([png(), Buffer.alloc(5_242_880 - png().length, 1)]))
  const { body, status } = await mine.completeWith([image(url)])
  expect(status, JSON.stringify(body)).toBe(200)
  expect(provider.bodies[0].messages[0].content[0].image_url.url === url).toBe(true)
  await mine.expectNoPayload()
  await stop()
})

test('repeated requests with an image are paid once, and leave no file', async () => {
  const { mine, provider, stop } = await start()
  const content = [text('What is this?'), image(urlOf(png()))]
  const body = { model: 'sees', messages: [user(content)] }
  const key = { 'Idempotency-Key': 'one' }
  const answers = await Promise.all(Array.from({ length: 6 }, () => mine.post('/chat/completions', body, key)))
  expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200))
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1)
  const other = { model: 'sees', messages: [user([text('What is this?'), image(urlOf(png(9, 9)))])] }
  expect((await mine.post('/chat/completions', other, key)).status).toBe(409)
  for (const count of ['0', '1']) await mine.post('/chat/completions', body, { 'X-Stainless-Retry-Count': count })
  expect(provider.requests).toHaveLength(2)
  expect(await mine.charges()).toHaveLength(2)
  await mine.expectNoPayload()
  await mine.expectSound()
  await stop()
})

test('a request whose client leaves before the end leaves no file', async () => {
  const { mine, provider, service, stop } = await start()
  provider.play(replyThen({ text: ['A grey'] }, () => {}))
  const left = new AbortController()
  const messages = [user([image(urlOf(png()))])]
  const answer = await fetch(`${service.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${mine.person.key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: 'sees', messages, stream: true }),
    signal: left.signal,
  })
  const reader = answer.body!.getReader()
  let read = ''
  while (!read.includes('grey')) read += new TextDecoder().decode((await reader.read()).value)
  expect((await mine.payloads()).map(({ length }) => length)).toEqual([1, 1])
  left.abort()
  await mine.expectNoPayload()
  await mine.expectSound()
  // The usage is charged.
  expect(await mine.charges()).toHaveLength(1)
  await stop()
})

test('an http agent gets links that work only during its reply', async () => {
  const given: any[] = []
  const remote = await startAgentService(async (response, { body }: any) => {
    const parts = [...body.history.flatMap((message: any) => message.parts ?? []), ...(body.parts ?? [])]
    for (const part of parts) {
      if (part.type === 'file') given.push([part.url, Buffer.from(await (await fetch(part.url)).arrayBuffer())])
    }
    return replyWith('{"type":"text","delta":"Seen."}\n')(response, { body } as any)
  })
  const service = await startService({
    config: { agents: [{ ...agentAt(remote.url), chat: { pricing: rates, accepts } }] },
    limits: { executionsPerMinute: 0 },
  })
  const mine = new FileCalls(service, { person: await service.createPerson(), provider: undefined as never })
  const messages = [user([image(urlOf(png(5, 5)))]), { role: 'assistant', content: 'So.' }, user([image(urlOf(png()))])]
  const { body, status } = await mine.post('/chat/completions', { model: 'remote', messages })
  expect([status, body.choices?.[0].message.content], JSON.stringify(body)).toEqual([200, 'Seen.'])
  expect(given.map(([, content]) => content)).toEqual([png(5, 5), png()])
  await mine.expectNoPayload()
  for (const [url] of given) expect((await fetch(url)).status).toBe(404)
  await mine.expectSound()
  await service.stop()
  await remote.stop()
})

const remoteUrl = 'https://example.com/a.png'
const many = Array.from({ length: 11 }, () => urlOf('x', 'text/plain'))

/** Invalid parts with the error in a chat completion and in a response. */
const bad: [string, object, object, string, RegExp, string?][] = [
  [
    'a remote image',
    image(remoteUrl),
    image(remoteUrl, 'input_image'),
    '.image_url',
    /remote URL.*data: URL/,
    'unsupported_value',
  ],
  ['an image of no URL', image('nonsense'), image('nonsense', 'input_image'), '.image_url', /base64 data: URL/],
  ['no image', { type: 'image_url', image_url: {} }, { type: 'input_image' }, '.image_url', /base64 data: URL/],
  [
    'an image that is not in base64',
    image('data:text/plain,hello'),
    image('data:text/plain,hello', 'input_image'),
    '.image_url',
    /base64 data: URL/,
  ],
  [
    'an empty file',
    image('data:text/plain;base64,'),
    image('data:text/plain;base64,', 'input_image'),
    '.image_url',
    /empty/,
  ],
  [
    'broken base64',
    image('data:image/png;base64,????'),
    image('data:image/png;base64,????', 'input_image'),
    '.image_url',
    /base64/,
  ],
  ['bytes that are no image', image(urlOf('no')), image(urlOf('no'), 'input_image'), '.image_url', /Must be an image/],
  [
    'an image of another type',
    image(urlOf(jpeg())),
    image(urlOf(jpeg()), 'input_image'),
    '.image_url',
    /the file is image\/jpeg/,
  ],
  [
    'a type that the agent does not take',
    image(urlOf('MZ', 'application/x-msdownload')),
    image(urlOf('MZ', 'application/x-msdownload'), 'input_image'),
    '.image_url',
    /accepts: image\/\*, application\/pdf, text\/\*/,
  ],
  [
    'a file that is too large',
    file({ file_data: urlOf('x'.repeat(5001), 'text/plain') }),
    inputFile({ file_data: urlOf('x'.repeat(5001), 'text/plain') }),
    '.file_data',
    /5000 bytes/,
  ],
  [
    'the id of a file',
    file({ file_id: 'file_1' }),
    inputFile({ file_id: 'file_1' }),
    '.file_id',
    /Must not be a file id/,
    'unsupported_value',
  ],
  [
    'the address of a file',
    file({ file_url: remoteUrl }),
    inputFile({ file_url: remoteUrl }),
    '.file_url',
    /remote URL/,
    'unsupported_value',
  ],
  ['a file without data', file({}), inputFile({}), '.file_data', /base64 data: URL/],
  [
    'a name with a path',
    file({ file_data: urlOf(pdf, 'application/pdf'), filename: '../x' }),
    inputFile({ file_data: urlOf(pdf, 'application/pdf'), filename: '../x' }),
    '.filename',
    /slashes/,
  ],
  [
    'a name that is displayed in another order',
    file({ file_data: urlOf(pdf, 'application/pdf'), filename: 'invoice_\u202Efdp.exe' }),
    inputFile({ file_data: urlOf(pdf, 'application/pdf'), filename: 'invoice_\u202Efdp.exe' }),
    '.filename',
    /direction/,
  ],
  [
    'audio',
    { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
    { type: 'input_audio' },
    '',
    /Must not have (?:items|parts) of the type "input_audio"/,
    'unsupported_value',
  ],
]

test('rejects files that the agent does not accept, names the field and writes nothing', async () => {
  const { mine, provider, stop } = await start({ limits: { maxFileBytes: 5000, maxMessageFileBytes: 6000 } })
  const before = await mine.state()
  const refused = async (path: string, body: object, param: string) => {
    const { body: answer, status } = await mine.post(path, body)
    expect([status, answer.error?.param, answer.error?.type], JSON.stringify(answer)).toEqual([
      400,
      param,
      'invalid_request_error',
    ])
    expect(await mine.state(), param).toBe(before)
    return answer.error
  }
  for (const [what, ofCompletion, ofResponse, field, words, code = 'invalid_value'] of bad) {
    const within = { '.image_url': '.image_url.url', '': '' }[field] ?? `.file${field}`
    const messages = [user([text('Hm'), ofCompletion])]
    const error = await refused('/chat/completions', { model: 'sees', messages }, `messages[0].content[1]${within}`)
    expect([error.code, error.message], what).toEqual([code, expect.stringMatching(words)])
    const input = [{ role: 'developer', content: 'x' }, user([text('Hm', 'input_text'), ofResponse])]
    const other = await refused('/responses', { model: 'sees', input }, `input[1].content[1]${field}`)
    expect([other.code, other.message], what).toEqual([code, expect.stringMatching(words)])
  }
  const inEarlier = [
    { role: 'system', content: 'x' },
    user('a'),
    user([text('b'), text('c'), image(urlOf('no'))]),
    { role: 'assistant', content: 'd' },
    user('e'),
  ]
  await refused('/chat/completions', { model: 'sees', messages: inEarlier }, 'messages[2].content[2].image_url.url')
  const ofSystem = [{ role: 'system', content: [image(urlOf(png()))] }, user('Hello')]
  await refused('/chat/completions', { model: 'sees', messages: ofSystem }, 'messages[0].content[0]')
  const all = { model: 'tells', messages: [user(many.map((url) => image(url)))] }
  expect((await refused('/chat/completions', all, 'messages[0].content')).message).toMatch(/10 files/)
  const six = Array.from({ length: 6 }, () => user(many.slice(1).map((url) => image(url))))
  expect(
    (await refused('/chat/completions', { model: 'tells', messages: six }, 'messages[4].content')).message,
  ).toMatch(/50 files/)
  const two = [1, 2].map((n) => user([image(urlOf(`${n}`.repeat(4000), 'text/plain'))]))
  expect(
    (await refused('/chat/completions', { model: 'tells', messages: two }, 'messages[0].content')).message,
  ).toMatch(/6000 bytes/)
  // The rejection by an agent without file support names the part.
  const blind = { model: 'blind', messages: [user([text('?'), image(urlOf(png()))])] }
  expect((await refused('/chat/completions', blind, 'messages[0].content[1]')).code).toBe('unsupported_value')
  expect(provider.requests).toEqual([])
  await stop()
})

test('rejects a completion whose image the balance does not cover, and stores nothing', async () => {
  const { mine, provider, stop } = await start({ balanceUsd: '0.1900' })
  const before = await mine.state()
  for (const path of ['/chat/completions', '/responses']) {
    const refused = await mine.post(path, { model: 'sees', ...asked(path, [image(urlOf(png()))]) })
    expect([refused.status, refused.body.error.code]).toEqual([402, 'insufficient_quota'])
    expect(await mine.state()).toBe(before)
  }
  // Each byte of a text may be a token.
  const large = [text('Read.'), image(urlOf('x'.repeat(3000), 'text/plain'))]
  const earlier = await mine.post('/chat/completions', { model: 'sees', messages: [user(large), user('Well?')] })
  expect([earlier.status, earlier.body.error?.code]).toEqual([402, 'insufficient_quota'])
  expect(await mine.state()).toBe(before)
  expect(provider.requests).toEqual([])
  await stop()
})

test('the model list states the accepted media types', async () => {
  const { mine, stop } = await start()
  const { body } = await mine.get('/models')
  expect(body.data.map(({ accepts: taken, id }: any) => [id, taken])).toEqual([
    ['sees', accepts],
    ['blind', []],
    ['tells', accepts],
  ])
  await stop()
})
