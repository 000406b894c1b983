import { expect, test } from 'vitest'
import { createClient, type ChatEvent, type ClientFetch } from '../../client/client.ts'
import { say, type Step } from '../support/chat-agents.ts'
import { startTalk } from '../chat/chat-checks.ts'

/**
 * Returns a fetch that cuts streamed responses, or those to a certain method, after this many bytes. Records the paths
 * of the requests.
 */
function cutting(bytes: number, method = /./): { fetch: ClientFetch; paths: string[] } {
  const paths: string[] = []
  const fetch: ClientFetch = async (url, init) => {
    paths.push(`${init.method} ${new URL(url).pathname}${new URL(url).search}`)
    const response = await globalThis.fetch(url, init)
    if (!response.body || !method.test(init.method!) || !/ndjson/.test(response.headers.get('content-type') ?? ''))
      return response
    let left = bytes
    const reader = response.body.getReader()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (left <= 0) {
          await reader.cancel()
          return controller.error(new TypeError('terminated'))
        }
        const { done, value } = await reader.read()
        if (done) return controller.close()
        controller.enqueue(value.subarray(0, left))
        left -= value.length
      },
      cancel: (reason) => reader.cancel(reason),
    })
    return new Response(body, { status: response.status, headers: response.headers })
  }
  return { fetch, paths }
}

const steps: Step[] = [
  { do: 'text', delta: 'One two three. ', times: 20 },
  { do: 'wait', ms: 50 },
  { do: 'text', delta: 'Four five six. ', times: 20 },
]

async function collect(stream: AsyncIterable<ChatEvent>): Promise<ChatEvent[]> {
  const events: ChatEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

test('a reply resumes after every broken connection, yields each event once and is charged once', async () => {
  const service = await startTalk()
  const { key } = await service.createPerson()
  const { fetch, paths } = cutting(600)
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  const stream = client.chat.stream({ sessionId, message: say(...steps) })
  const events = await collect(stream)
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, n) => n + 1))
  expect(events.at(-1)?.type).toBe('done')
  expect(paths.filter((path) => path === 'POST /api/chat')).toHaveLength(1)
  expect(
    paths.filter((path) => path.startsWith(`GET /api/chat/${stream.turnId}/events?after=`)).length,
  ).toBeGreaterThan(2)
  const whole = createClient({ baseUrl: service.url, apiKey: key })
  expect(await collect(whole.chat.resume({ turnId: stream.turnId! }))).toEqual(events)
  expect(await collect(whole.chat.resume({ turnId: stream.turnId!, after: events.length }))).toEqual([])
  expect(await collect(whole.chat.resumeSession({ sessionId }))).toEqual([])
  expect((await client.transactions.list({ type: 'chat_charge' })).total).toBe(1)
  await service.stop()
})

test.each(['break', 'abort', 'return'])(
  'a %s stops the reply at the service, which charges the usage so far',
  async (how) => {
    const service = await startTalk()
    const { key } = await service.createPerson()
    const client = createClient({ baseUrl: service.url, apiKey: key })
    const { sessionId } = await client.sessions.create({ agentId: 'talk' })
    const controller = new AbortController()
    const message = say({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' })
    const stream = client.chat.stream({ sessionId, message }, { signal: controller.signal })
    if (how === 'break') {
      for await (const { type } of stream) if (type === 'assistant_delta') break
    } else await stream.next()
    if (how === 'abort') controller.abort()
    if (how === 'return') await stream.return()
    const end = (await collect(client.chat.resume({ turnId: stream.turnId! }))).at(-1)
    expect(end).toMatchObject({
      type: 'error',
      error: { code: 'AGENT_INTERRUPTED', message: 'The reply was stopped.' },
    })
    expect((await client.transactions.list({ type: 'chat_charge' })).total).toBe(1)
    await service.stop()
  },
)

test('leaving a reply before its response arrives stops the reply', async () => {
  const service = await startTalk()
  const { key } = await service.createPerson()
  const admitted = Promise.withResolvers<void>()
  const told = Promise.withResolvers<void>()
  // The response arrives only after the client has left.
  const fetch: ClientFetch = async (url, init) => {
    const response = await globalThis.fetch(url, init)
    if (!url.endsWith('/api/chat')) return response
    admitted.resolve()
    await told.promise
    return response
  }
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  const stream = client.chat.stream({ sessionId, message: say({ do: 'text', delta: 'Hi' }, { do: 'await-abort' }) })
  const first = stream.next()
  await admitted.promise
  await stream.return()
  expect(await first).toEqual({ done: true, value: undefined })
  told.resolve()
  const reader = createClient({ baseUrl: service.url, apiKey: key })
  await expect.poll(async () => (await reader.account.get()).heldUsd).toBe('0.0000')
  await service.stop()
})

test('stopping a turn ends it for every reader; a disconnected reply reports its cost', async () => {
  const service = await startTalk()
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  const message = say({ do: 'text', delta: 'Some text. ' }, { do: 'await-abort' })
  const stream = client.chat.stream({ sessionId, message })
  await stream.next()
  const second = collect(client.chat.resumeSession({ sessionId }))
  expect(await client.chat.stop({ turnId: stream.turnId! })).toEqual({ turnId: stream.turnId, stopped: true })
  const end = await stream.next()
  expect(end.value).toMatchObject({ type: 'error', error: { message: 'The reply was stopped.' } })
  expect((await second).at(-1)).toEqual(end.value)
  expect(await client.chat.stop({ turnId: stream.turnId! })).toMatchObject({ stopped: false })
  // With onDisconnect 'stop', the service stops a reply whose stream is cut, and reports this to the client.
  const cut = createClient({ baseUrl: service.url, apiKey: key, fetch: cutting(60, /POST/).fetch })
  const events = await collect(cut.chat.stream({ sessionId, message, onDisconnect: 'stop' }))
  const [charge] = (await client.transactions.list({ type: 'chat_charge' })).transactions
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { message: 'The client disconnected.' } })
  expect(`-${(events.at(-1) as { costUsd: string }).costUsd}`).toBe(charge?.amountUsd)
  await service.stop()
})
