import { expect, test } from 'vitest'
import type { Limits } from '../../server/app/config.ts'
import { agentAt, replyWith, startAgentService } from '../runner/agent-service.ts'
import { accepts, fileAgents, imageTokensMax, rates, smallContext } from '../support/file-agents.ts'
import { ModelProvider, reply } from '../support/model-provider.ts'
import { filePartOf, jpeg, pdf, png } from '../support/sample-files.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { expectOneEnd, soon, Talker, textOf, unitsOf } from './chat-checks.ts'

type World = { provider: ModelProvider; service: TestService; stop: () => Promise<void> }

async function start(limits: Partial<Limits> = {}): Promise<World> {
  const provider = await ModelProvider.start()
  const service = await startService({
    config: fileAgents(provider.url),
    limits: { executionsPerMinute: 0, abuseFailures: 0, ...limits },
  })
  const stop = async () => {
    await service.stop()
    await provider.stop()
  }
  return { provider, service, stop }
}

const ask = (text: string) => ({ type: 'text', text }) as const

async function payloadIds({ app }: TestService): Promise<string[]> {
  return (await app.store.listPayloads({ afterId: '', limit: 100 })).map(({ id }) => id)
}

/** Returns the state with the files, but without their links, which differ each time. */
async function stateOf(talker: Talker): Promise<string> {
  const state = { ...(await talker.state()), payloads: await payloadIds(talker.service) }
  return JSON.stringify(state, (name, value: unknown) => (name === 'url' ? undefined : value))
}

async function refused(talker: Talker, message: unknown, path: string): Promise<string> {
  const before = await stateOf(talker)
  const reader = await talker.open(message)
  await reader.end().catch(() => {})
  expect(reader.status, reader.text).toBe(400)
  const { details } = JSON.parse(reader.text)
  expect(details[0].path, reader.text).toBe(path)
  expect(await stateOf(talker)).toBe(before)
  return details[0].message
}

test('sends an image unchanged between its text parts, and charges the tokens the provider counted', async () => {
  const { provider, service, stop } = await start()
  provider.play(reply({ text: ['A grey field.'], usage: { prompt_tokens: 1234, completion_tokens: 5 } }))
  const talker = await Talker.create(service, { agentId: 'sees' })
  const image = png()
  const message = [ask('What is'), filePartOf(image, { filename: 'field.png' }), ask('this?')]
  const events = await talker.chat(message)
  expect(textOf(events)).toBe('A grey field.')
  const { costUsd } = expectOneEnd(events, 'done')
  // 1,234 tokens at 0.1 and 5 at 0.2 per thousand.
  expect(costUsd).toBe('0.1244')
  const sent = { type: 'image_url', image_url: { url: `data:image/png;base64,${image.toString('base64')}` } }
  expect(provider.bodies[0].messages).toEqual([{ role: 'user', content: [ask('What is'), sent, ask('this?')] }])

  provider.play(reply({ text: ['Still grey.'] }))
  await talker.chat('And now?')
  expect(provider.bodies[0].messages).toMatchObject([
    { role: 'user', content: [ask('What is'), sent, ask('this?')] },
    { role: 'assistant', content: 'A grey field.' },
    { role: 'user', content: 'And now?' },
  ])
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await stop()
})

test("reserves an image's maximum cost up front, and rejects a lower balance without writing anything", async () => {
  const { provider, service, stop } = await start()
  let held = 0
  provider.play(async (response, request) => {
    held = unitsOf((await talker.account()).heldUsd)
    await reply({ text: ['Yes.'], usage: { prompt_tokens: imageTokensMax, completion_tokens: 100 } })(response, request)
  })
  const talker = await Talker.create(service, { agentId: 'sees', balanceUsd: '0.3500' })
  const end = expectOneEnd(await talker.chat([ask('Is it?'), filePartOf(png())]), 'done')
  // At most 2,000 image tokens.
  expect(held).toBeGreaterThanOrEqual(unitsOf('0.2000'))
  expect(unitsOf(end.costUsd)).toBe(unitsOf('0.2200'))
  await talker.settled()

  provider.play(reply({ text: ['No.'] }))
  const before = await stateOf(talker)
  const poor = await talker.another('sees')
  const reader = await poor.open([ask('Is it?'), filePartOf(png(65, 48))])
  expect(reader.status).toBe(403)
  expect((await reader.end()).error.code).toBe('INSUFFICIENT_BALANCE')
  expect(provider.requests).toEqual([])
  expect(await stateOf(talker)).toBe(before)
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await stop()
})

test('a document reserves the rest of the context; with too low a balance, nothing is sent to the provider', async () => {
  const { provider, service, stop } = await start()
  const document = filePartOf(pdf, { mediaType: 'application/pdf' })
  const rest = unitsOf('0.1000') * (smallContext / 1000)
  let held = 0
  provider.play(async (response, request) => {
    held = unitsOf((await talker.account()).heldUsd)
    const usage = { prompt_tokens: smallContext, completion_tokens: 100 }
    await reply({ text: ['A contract.'], usage })(response, request)
  })
  const talker = await Talker.create(service, { agentId: 'sees', balanceUsd: '1.0000' })
  // Both documents share the rest of the context.
  const end = expectOneEnd(await talker.chat([ask('What is it?'), document, document]), 'done')
  expect(held).toBeGreaterThanOrEqual(rest)
  expect(held).toBeLessThan(rest + unitsOf('0.2000'))
  expect(unitsOf(end.costUsd)).toBe(rest + unitsOf('0.0200'))
  await talker.settled()

  for (const agentId of ['sees', 'tells']) {
    provider.play(reply({ text: ['No.'] }))
    const poor = await Talker.create(service, { agentId, balanceUsd: '0.7000' })
    const before = await stateOf(poor)
    const reader = await poor.open([ask('What is it?'), document])
    expect((await reader.end()).error.code, agentId).toBe('INSUFFICIENT_BALANCE')
    expect([reader.status, provider.requests], agentId).toEqual([403, []])
    expect(await stateOf(poor)).toBe(before)
    expectOneEnd(await poor.chat('Just this.'), 'done')
  }
  expect(await service.app.store.verifyLedger()).toMatchObject({ ok: true })
  await stop()
})

test('a document in an earlier message reserves the rest of the context again', async () => {
  const { provider, service, stop } = await start()
  const talker = await Talker.create(service, { agentId: 'sees', balanceUsd: '2.0000' })
  provider.play(reply({ text: ['Read.'], usage: { prompt_tokens: 200, completion_tokens: 5 } }))
  await talker.chat([ask('Read it.'), filePartOf(pdf, { mediaType: 'application/pdf' })])
  await talker.settled()
  let held = 0
  provider.play(async (response, request) => {
    held = unitsOf((await talker.account()).heldUsd)
    await reply({ text: ['Again.'], usage: { prompt_tokens: 250, completion_tokens: 5 } })(response, request)
  })
  expectOneEnd(await talker.chat('And now?'), 'done')
  expect(held).toBeGreaterThanOrEqual(unitsOf('0.1000') * (smallContext / 1000))
  await stop()
})

test('messages link their file parts for download, and a repeated file is stored once', async () => {
  const { service, stop } = await start()
  const talker = await Talker.create(service, { agentId: 'tells' })
  const image = jpeg()
  const text = 'Grüße, Welt!'
  const one = filePartOf(image, { mediaType: 'image/jpeg', filename: 'Bild "ä".jpg' })
  const two = filePartOf(text, { mediaType: 'text/plain; charset=utf-8', filename: 'hello.txt' })
  const three = filePartOf(pdf, { mediaType: 'application/pdf' })
  const events = await talker.chat([ask('Look:'), one, ask('and'), two, three, one])
  const bytes = Buffer.byteLength(text)
  const all = [one.filename, 'image/jpeg', image.length].join(':')
  const listed = `Look:|${all}|and|hello.txt:text/plain:${bytes}|undefined:application/pdf:${pdf.length}|${all}`
  expect(textOf(events)).toBe(`Look:\nand <${listed}>`)
  const [message, answer] = await talker.messages()
  expect(message).toMatchObject({
    content: 'Look:\nand',
    parts: [
      ask('Look:'),
      { type: 'file', mediaType: 'image/jpeg', filename: 'Bild "ä".jpg', bytes: image.length },
      ask('and'),
      { type: 'file', mediaType: 'text/plain', filename: 'hello.txt', bytes },
      { type: 'file', mediaType: 'application/pdf', bytes: pdf.length },
      { type: 'file', mediaType: 'image/jpeg' },
    ],
  })
  expect(answer).not.toHaveProperty('parts')
  const { parts } = message
  expect(parts[1].payloadId).toBe(parts[5].payloadId)
  expect(await payloadIds(service)).toHaveLength(3)
  const loaded = await fetch(parts[1].url)
  expect(Buffer.from(await loaded.arrayBuffer()).equals(image)).toBe(true)
  expect(loaded.headers.get('content-type')).toBe('image/jpeg')
  expect(loaded.headers.get('x-content-type-options')).toBe('nosniff')
  expect(loaded.headers.get('content-disposition')).toBe(
    `attachment; filename="Bild ___.jpg"; filename*=UTF-8''Bild%20%22%C3%A4%22.jpg`,
  )
  expect(await (await fetch(parts[3].url)).text()).toBe(text)
  await stop()
})

test('an earlier file can be resent by id from any session of its user only', async () => {
  const { service, stop } = await start()
  const talker = await Talker.create(service, { agentId: 'tells' })
  await talker.chat([filePartOf(png(), { filename: 'a.png' })])
  const [{ parts }] = await talker.messages()
  const { payloadId } = parts[0]
  const other = await talker.another('tells')
  const again = [ask('Again'), { type: 'file', payloadId }]
  expect(textOf(await other.chat(again))).toBe(`Again <Again|a.png:image/png:${png().length}>`)
  expect(textOf(await other.chat('Plain'))).toBe(`Plain <> <Again|a.png:image/png:${png().length}>`)

  const stranger = await Talker.create(service, { agentId: 'tells' })
  const ofAnother = await refused(stranger, again, 'message[1].payloadId')
  const ofNobody = await refused(
    stranger,
    [{ type: 'file', payloadId: `pay_${'0'.repeat(26)}` }],
    'message[0].payloadId',
  )
  expect(ofAnother).toBe(ofNobody)
  await refused(other, [{ type: 'file', payloadId, mediaType: 'text/plain' }], 'message[0].mediaType')

  // The copy survives the deletion of the original session.
  await service.request('DELETE', `/api/sessions/${talker.sessionId}`, { key: talker.key })
  expect((await fetch(parts[0].url)).status).toBe(404)
  expect(textOf(await other.chat('Still'))).toContain(`a.png:image/png:${png().length}`)
  await stop()
})

test('deletes files with their session, and with a message that is not stored', async () => {
  const { service, stop } = await start()
  const talker = await Talker.create(service, { agentId: 'tells' })
  await talker.chat([filePartOf(png())])
  expect(await payloadIds(service)).toHaveLength(1)
  expectOneEnd(await talker.chat([ask('Fail'), filePartOf(png(10, 10))]), 'error')
  await expect.poll(() => payloadIds(service), soon).toHaveLength(1)
  const [{ parts }] = await talker.messages()
  const deleted = await service.request('DELETE', `/api/sessions/${talker.sessionId}`, { key: talker.key })
  expect(deleted.status).toBe(200)
  expect(await payloadIds(service)).toEqual([])
  expect((await fetch(parts[0].url)).status).toBe(404)
  await stop()
})

test('rejects unsupported types, mismatched content and oversized files, and names the field', async () => {
  const limits = { maxFileBytes: 5000, maxMessageFileBytes: 6000 }
  const { provider, service, stop } = await start(limits)
  const talker = await Talker.create(service, { agentId: 'sees' })
  const blind = await talker.another('blind')
  const html = filePartOf('<html>', { mediaType: 'text/html' })
  const cases: [unknown, string, RegExp][] = [
    [
      [ask('?'), filePartOf('MZ', { mediaType: 'application/x-msdownload' })],
      'message[1].mediaType',
      /image\/\*, application\/pdf, text\/\*/,
    ],
    [[filePartOf('no image')], 'message[0].data', /Must be an image/],
    [[filePartOf(jpeg())], 'message[0].data', /the file is image\/jpeg/],
    [[filePartOf(png().subarray(0, 20))], 'message[0].data', /Must be an image/],
    [[filePartOf('<svg/>', { mediaType: 'image/svg+xml' })], 'message[0].data', /image\/png/],
    [[filePartOf('text', { mediaType: 'application/pdf' })], 'message[0].data', /PDF/],
    [[filePartOf(Buffer.from([0xff, 0xfe, 0]), { mediaType: 'text/plain' })], 'message[0].data', /UTF-8/],
    [[filePartOf('x'.repeat(5001), { mediaType: 'text/plain' })], 'message[0].data', /5000 bytes/],
    [[1, 2].map((n) => filePartOf(`${n}`.repeat(4000), { mediaType: 'text/plain' })), 'message', /6000 bytes/],
    [Array.from({ length: 11 }, () => html), 'message', /10 files/],
    [[{ ...html, data: '????' }], 'message[0].data', /base64/],
    [[{ ...html, data: '' }], 'message[0].data', /./],
    [[{ ...html, mediaType: 'nonsense' }], 'message[0].mediaType', /media type/],
    [[{ ...html, payloadId: 'pay_1' }], 'message[0]', /either/],
    [[{ type: 'file', mediaType: 'text/plain' }], 'message[0]', /either/],
    [[{ type: 'file', data: html.data }], 'message[0].mediaType', /Must be set if data/],
    [[{ ...html, filename: '../x' }], 'message[0].filename', /slashes/],
    ...[...'\u202A\u202E\u2066\u2069\u2028\u2029'].map((char): [unknown, string, RegExp] => [
      [{ ...html, filename: `invoice_${char}fdp.exe` }],
      'message[0].filename',
      /direction/,
    ]),
    [[{ type: 'image', url: 'x' }], 'message[0].type', /"text" or "file"/],
    [[{ type: 'text' }], 'message[0].text', /./],
    [[], 'message', /./],
    [7, 'message', /a string or an array/],
  ]
  for (const [message, path, words] of cases) expect(await refused(talker, message, path)).toMatch(words)
  expect(await refused(blind, [filePartOf(png())], 'message[0].mediaType')).toMatch(/does not accept files/)
  expect(provider.requests).toEqual([])
  // Agents without file support receive text-only parts as a string.
  provider.play(reply({ text: ['Hm.'] }))
  await blind.chat([ask('One'), ask('two')])
  expect(provider.bodies[0].messages).toEqual([{ role: 'user', content: 'One\ntwo' }])
  await stop()
})

test('accepts a file of exactly the maximum size and rejects one byte more', async () => {
  const { provider, service, stop } = await start()
  provider.play(reply({ text: ['Large.'] }))
  const talker = await Talker.create(service, { agentId: 'sees' })
  const most = 5_242_880
  const image = Buffer.concat([png(), Buffer.alloc(most - png().length, 1)])
  expectOneEnd(await talker.chat([ask('What?'), filePartOf(image)]), 'done')
  const [, { image_url: sent }] = provider.bodies[0].messages[0].content
  expect(sent.url.length).toBe('data:image/png;base64,'.length + Math.ceil(most / 3) * 4)
  const words = await refused(talker, [filePartOf(Buffer.concat([image, Buffer.alloc(1)]))], 'message[0].data')
  expect(words).toMatch(/5242880 bytes/)
  await refused(
    talker,
    [{ ...filePartOf(image), data: `${image.toString('base64').slice(0, -5)}!AAA` }],
    'message[0].data',
  )
  await stop()
})

test('an http agent gets file links in message order, also for files in its history', async () => {
  const given: any[] = []
  const remote = await startAgentService(async (response, { body }) => {
    const part = body.parts?.find(({ type }: any) => type === 'file')
    given.push({ body, file: part && Buffer.from(await (await fetch(part.url)).arrayBuffer()) })
    return replyWith('{"type":"text","delta":"Seen."}\n')(response, { body } as any)
  })
  const service = await startService({
    config: { agents: [{ ...agentAt(remote.url), chat: { pricing: rates, accepts } }] },
    limits: { executionsPerMinute: 0 },
  })
  const talker = await Talker.create(service, { agentId: 'remote' })
  const image = png()
  expect(textOf(await talker.chat([filePartOf(image, { filename: 'a.png' }), ask('What?')]))).toBe('Seen.')
  await talker.chat('And?')
  const file = { type: 'file', mediaType: 'image/png', filename: 'a.png', bytes: image.length, url: expect.any(String) }
  expect(given[0].body).toMatchObject({ message: 'What?', history: [] })
  expect(given[0].body.parts).toEqual([file, ask('What?')])
  expect(image.equals(given[0].file)).toBe(true)
  expect(given[1].body).not.toHaveProperty('parts')
  expect(given[1].body.history).toEqual([
    { role: 'user', content: 'What?', parts: [file, ask('What?')] },
    { role: 'assistant', content: 'Seen.' },
  ])
  await service.stop()
  await remote.stop()
})

test('a quote for a message with a file is valid for that file only', async () => {
  const { provider, service, stop } = await start()
  provider.play(reply({ text: ['So.'] }))
  const talker = await Talker.create(service, { agentId: 'sees' })
  const { key, sessionId } = talker
  const message = [ask('What?'), filePartOf(png())]
  const quoted = await service.post('/api/quotes', { chat: { sessionId, message } }, { key })
  expect(quoted.status, JSON.stringify(quoted.body)).toBe(200)
  expect(unitsOf(quoted.body.worstCaseUsd)).toBeGreaterThanOrEqual(unitsOf('0.2200'))
  expect(await payloadIds(service)).toEqual([])
  const { quoteId } = quoted.body
  const bad = await service.post(
    '/api/chat',
    { sessionId, message: [message[0], filePartOf(png(1, 1))], quoteId },
    { key },
  )
  expect(bad.status).toBe(400)
  const good = await service.post('/api/chat', { sessionId, message, quoteId }, { key })
  expect(good.status, JSON.stringify(good.body)).toBe(200)
  await stop()
})
