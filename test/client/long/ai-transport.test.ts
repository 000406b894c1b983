import { writeFileSync } from 'node:fs'
import { AbstractChat, type ChatInit, type ChatState, type ChatStatus, type UIMessage } from 'ai'
import { expect, test } from 'vitest'
import {
  ErrandChatTransport,
  toUIMessages,
  type ChatEnd,
  type ErrandChatTransportOptions,
  type ErrandMetadata,
} from '../../../client/ai-sdk/ai-sdk.ts'
import { createClient, isErrandError } from '../../../client/client.ts'
import { expectSound, filesIn, soon, startTalk, Talker } from '../../chat/chat-checks.ts'
import { say, type Step } from '../../support/chat-agents.ts'

// Runs the chat of the package `ai` with our transport, against the service.

type Told = UIMessage<ErrandMetadata>

/** Replaces the React state of `useChat`. */
class PlainState implements ChatState<Told> {
  status: ChatStatus = 'ready'
  error: Error | undefined = undefined
  messages: Told[]
  /** Number of message updates. */
  writes = 0
  pushMessage = (message: Told) => {
    this.writes++
    this.messages = [...this.messages, message]
  }
  popMessage = () => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: Told) => {
    this.writes++
    this.messages = this.messages.with(index, this.snapshot(message))
  }
  snapshot = <Value>(value: Value): Value => structuredClone(value)

  constructor(messages: Told[]) {
    this.messages = messages
  }
}

class PlainChat extends AbstractChat<Told> {
  declare readonly state: PlainState

  constructor({ messages = [], ...init }: ChatInit<Told>) {
    super({ ...init, state: new PlainState(messages) })
  }

  get reply(): Told {
    return this.messages.at(-1)!
  }

  get text(): string {
    return this.reply.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  }

  say(...steps: Step[]): Promise<void> {
    return this.sendMessage({ text: say(...steps) })
  }

  async showing(text: string): Promise<void> {
    await expect.poll(() => this.text, soon).toBe(text)
  }
}

async function open({ balanceUsd = '10' }: { balanceUsd?: string } = {}) {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd })
  const client = createClient({ baseUrl: service.url, apiKey: talker.key })
  const ends: ChatEnd[] = []
  /** Creates a page with the chat; a reload creates a new page. */
  const openPage = (options: Partial<ErrandChatTransportOptions> = {}, init: ChatInit<Told> = {}) => {
    const transport = new ErrandChatTransport({ client, onEnd: (end) => ends.push(end), ...options })
    return new PlainChat({ id: talker.sessionId, transport, ...init })
  }
  const close = async () => {
    await talker.settled()
    await expectSound(talker)
    await service.stop()
  }
  return { service, talker, client, ends, openPage, close }
}

test('sends only the new message; the reply has text, reasoning, tool calls and cost', async () => {
  const { client, close, ends, openPage, talker } = await open()
  const chat = openPage()
  await chat.sendMessage({ text: 'Hello' })
  expect(chat.text).toBe('You said: Hello')
  await chat.say(
    { do: 'reasoning', delta: 'Let me see. ', times: 2 },
    { do: 'text', delta: 'First ' },
    { do: 'call', id: 'a', name: 'look', arguments: { at: 1 } },
    { do: 'result', id: 'a', output: { seen: 1 } },
    { do: 'call', id: 'b', name: 'look', arguments: { at: 2 } },
    { do: 'text', delta: 'second.' },
    { do: 'usage', promptTokens: 100, completionTokens: 10 },
  )
  const look = { type: 'dynamic-tool', toolName: 'look', providerExecuted: true }
  expect(chat.reply.parts).toMatchObject([
    { type: 'reasoning', text: 'Let me see. Let me see. ', state: 'done' },
    { type: 'text', text: 'First ', state: 'done' },
    { ...look, toolCallId: 'a', state: 'output-available', input: { at: 1 }, output: { seen: 1 } },
    { ...look, toolCallId: 'b', state: 'input-available', input: { at: 2 } },
    { type: 'text', text: 'second.', state: 'done' },
  ])
  expect([chat.status, chat.error, chat.messages.length]).toEqual(['ready', undefined, 4])
  const [latest] = await talker.charges()
  const { costUsd, turnId, usage } = chat.reply.metadata!
  expect({ turnId, amountUsd: `-${costUsd}` }).toEqual({ turnId: latest.turnId, amountUsd: latest.amountUsd })
  expect(usage).toMatchObject({ promptTokens: 100, completionTokens: 10, toolCalls: 2 })
  expect(ends.at(-1)).toEqual({ chatId: talker.sessionId, turnId, costUsd, usage })
  // The service's history matches the page.
  const { messages } = await client.sessions.messages({ sessionId: talker.sessionId })
  const { transactions } = await client.transactions.list({ sessionId: talker.sessionId, type: 'chat_charge' })
  const again = toUIMessages(messages, { transactions })
  // Each reply still shows its cost after a reload.
  expect(again.map(({ metadata }) => metadata?.costUsd)).toEqual(chat.messages.map(({ metadata }) => metadata?.costUsd))
  expect(again.map(({ id, role }) => [role, role === 'assistant' && id])).toEqual(
    chat.messages.map(({ id, role }) => [role, role === 'assistant' && id]),
  )
  expect(again.at(-1)!.parts).toMatchObject([
    { ...look, state: 'output-available', output: { seen: 1 } },
    { ...look, state: 'output-error' },
    { type: 'text', text: 'First second.' },
  ])
  expect(await talker.messages()).toHaveLength(4)
  await close()
})

test('a stop ends the reply, writes nothing more and frees the session', async () => {
  const { close, ends, openPage, talker } = await open()
  for (const onDisconnect of ['continue', 'stop'] as const) {
    const page = openPage({ onDisconnect })
    const sent = page.say(
      { do: 'text', delta: 'Some text. ' },
      { do: 'await-abort' },
      { do: 'text', delta: 'Never seen.' },
    )
    await page.showing('Some text. ')
    await page.stop()
    const atStop = JSON.stringify(page.messages)
    const { writes } = page.state
    await sent
    await expect.poll(() => ends.length % 2, soon).toBe(1)
    expect([JSON.stringify(page.messages), page.state.writes]).toEqual([atStop, writes])
    await page.sendMessage({ text: onDisconnect })
    expect(page.text).toBe(`You said: ${onDisconnect}`)
    expect(page.messages[1]!.parts).toMatchObject([{ type: 'text', text: 'Some text. ' }])
    expect(page.status).toBe('ready')
    expect(page.messages).toHaveLength(4)
    const stopped = ends.at(-2)!
    expect(stopped).toMatchObject({ error: { code: 'AGENT_INTERRUPTED' }, turnId: page.messages[1]!.metadata!.turnId })
    expect((await talker.charges()).map(({ amountUsd }) => amountUsd)).toContain(`-${stopped.costUsd}`)
  }
  await close()
})

test('a stop from another tab ends the reply without an error on the page', async () => {
  const { close, ends, openPage, talker } = await open()
  const page = openPage()
  const sent = page.sendMessage({ text: say({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' }) })
  await page.showing('Some text. ')
  const other = createClient({ baseUrl: talker.service.url, apiKey: talker.key })
  await other.chat.stop({ turnId: page.messages[1]!.metadata!.turnId! })
  await sent
  expect([page.status, page.error]).toEqual(['ready', undefined])
  expect(page.text).toBe('Some text. ')
  const { costUsd, errorCode } = page.messages[1]!.metadata!
  expect(errorCode).toBe('AGENT_INTERRUPTED')
  expect((await talker.charges()).map(({ amountUsd }) => amountUsd)).toEqual([`-${costUsd}`])
  expect(ends).toMatchObject([{ costUsd, error: { code: 'AGENT_INTERRUPTED' } }])
  await close()
})

test('a stop before the response or before its first event also ends the reply', async () => {
  const { close, ends, openPage, talker } = await open()
  const answered = Promise.withResolvers<void>()
  const handedOn = Promise.withResolvers<void>()
  const client = createClient({
    baseUrl: talker.service.url,
    apiKey: talker.key,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      answered.resolve()
      await handedOn.promise
      return response
    },
  })
  const chat = openPage({ client })
  const sent = chat.say({ do: 'await-abort' })
  await answered.promise
  await chat.stop()
  expect(chat.status).toBe('ready')
  handedOn.resolve()
  await sent
  await expect.poll(() => ends.length, soon).toBe(1)
  const second = openPage()
  const sentAgain = second.say({ do: 'await-abort' })
  await expect.poll(() => second.messages.length, soon).toBe(2)
  await second.stop()
  await sentAgain
  await expect.poll(() => ends.length, soon).toBe(2)
  expect(ends.map(({ error }) => error?.code)).toEqual(['AGENT_INTERRUPTED', 'AGENT_INTERRUPTED'])
  await talker.settled()
  expect([chat.messages.length, chat.status, second.status]).toEqual([1, 'ready', 'ready'])
  await close()
})

test('a reload or a second tab replays the reply from the start without another charge', async () => {
  const { client, close, openPage, service, talker } = await open()
  const file = filesIn(service)('go')
  const first = openPage()
  void first.say({ do: 'text', delta: 'One. ' }, { do: 'await-file', file }, { do: 'text', delta: 'Two.' })
  await first.showing('One. ')
  const question = first.messages[0]!
  const pages = [openPage({}, { messages: [question] }), openPage({}, { messages: [question] })]
  const resumed = pages.map((page) => page.resumeStream())
  for (const page of pages) await page.showing('One. ')
  // If the chat is mounted or resumed twice, the earlier reader is dropped and the reply stays.
  resumed.push(pages[0]!.resumeStream())
  await pages[0]!.showing('One. ')
  writeFileSync(file, '')
  await Promise.all(resumed)
  for (const page of [first, ...pages]) {
    await page.showing('One. Two.')
    await expect.poll(() => page.status, soon).toBe('ready')
    expect(page.messages).toHaveLength(2)
    expect(page.reply).toEqual(first.reply)
  }
  expect(await talker.charges()).toHaveLength(1)
  const { messages } = await client.sessions.messages({ sessionId: talker.sessionId })
  const late = openPage({}, { messages: toUIMessages(messages) })
  await late.resumeStream()
  expect([late.status, late.error, late.messages.length]).toEqual(['ready', undefined, 2])
  await close()
})

test('remounting during a resume does not stop the reply, but stopping a resumed reply does', async () => {
  const { close, ends, openPage, talker } = await open()
  const first = openPage({ onEnd: undefined })
  const sent = first.say({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' })
  await first.showing('Some text. ')
  const page = openPage()
  const mounted = page.resumeStream()
  await page.stop()
  await mounted
  void page.resumeStream()
  await page.showing('Some text. ')
  expect((await talker.account()).heldUsd).not.toBe('0.0000')
  await page.stop()
  await sent
  expect([page.status, first.status, first.error]).toEqual(['ready', 'ready', undefined])
  await expect.poll(() => ends, soon).toMatchObject([{ error: { code: 'AGENT_INTERRUPTED' } }])
  await page.resumeStream()
  expect([page.status, page.text]).toEqual(['ready', 'Some text. '])
  await close()
})

test('with onDisconnect stop, a reply ends when its page is left', async () => {
  const { close, openPage, talker } = await open()
  let connections = new AbortController()
  const transport = new ErrandChatTransport({
    client: createClient({
      baseUrl: talker.service.url,
      apiKey: talker.key,
      fetch: (url, init) => fetch(url, { ...init, signal: AbortSignal.any([init.signal!, connections.signal]) }),
    }),
    onDisconnect: 'stop',
  })
  const chat = openPage({}, { transport })
  void chat.say({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' })
  await chat.showing('Some text. ')
  connections.abort()
  connections = new AbortController()
  await talker.settled()
  await expect.poll(() => chat.error?.message, soon).toBe('The client disconnected.')
  await close()
})

test("throws errors with their code and reports a failed reply's cost; the chat continues", async () => {
  const { close, ends, openPage, service, talker } = await open()
  const chat = openPage({ onError: ({ code, costUsd }) => `${code} for ${costUsd}` })
  await chat.say({ do: 'text', delta: 'Some text. ' }, { do: 'throw', message: 'secret' })
  expect(chat.status).toBe('error')
  const { costUsd, errorCode } = chat.reply.metadata!
  expect([chat.error?.message, errorCode]).toEqual([`AGENT_ERROR for ${costUsd}`, 'AGENT_ERROR'])
  expect([costUsd, (await talker.charges()).length]).toEqual(['0.0000', 0])
  expect(ends).toMatchObject([{ costUsd, error: { code: 'AGENT_ERROR' } }])
  await chat.sendMessage({ text: 'And now?' })
  expect([chat.status, chat.text]).toEqual(['ready', 'You said: And now?'])

  const poor = await Talker.create(service, { email: 'poor@example.com', balanceUsd: '0.0000' })
  const client = createClient({ baseUrl: service.url, apiKey: poor.key })
  const broke = openPage({ client, sessionId: () => poor.sessionId })
  await broke.sendMessage({ text: 'Hello' })
  expect(isErrandError(broke.error) && broke.error.code).toBe('INSUFFICIENT_BALANCE')
  expect([broke.status, broke.messages.length]).toEqual(['error', 1])
  const lost = openPage({ sessionId: 'sess_none' })
  await lost.resumeStream()
  expect(isErrandError(lost.error) && lost.error.code).toBe('NOT_FOUND')
  await close()
})

test('rejects unsupported requests before sending anything', async () => {
  const { close, openPage, talker } = await open()
  const chat = openPage()
  await chat.sendMessage({ text: 'Hello' })
  await chat.regenerate()
  expect(chat.error?.message).toMatch(/^messages: Must end with a new user message/)
  await chat.sendMessage({ text: 'Edited', messageId: chat.messages[0]!.id })
  expect(chat.error?.message).toMatch(/^messages: Must end with a new user message/)
  await chat.sendMessage({ files: [{ type: 'file', mediaType: 'image/png', url: 'https://example.com/a.png' }] })
  expect(chat.error?.message).toBe(
    'messages: Must contain only text and files with data: URLs. Remove the part of type file',
  )
  const nowhere = openPage({ sessionId: () => undefined })
  await nowhere.resumeStream()
  expect(nowhere.status).toBe('ready')
  await nowhere.sendMessage({ text: 'Hello' })
  expect(nowhere.error?.message).toMatch(/^sessionId: Must return a session id/)
  await chat.sendMessage({ text: 'Hello' }, { body: { params: { temperature: 7 } } })
  expect(isErrandError(chat.error) && chat.error.details).toMatchObject([{ path: 'params.temperature' }])
  expect(await talker.charges()).toHaveLength(1)
  await close()
})
