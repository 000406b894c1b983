import { expect, test } from 'vitest'
import { createClient, type ChatEvent, type ClientFetch } from '../../client/client.ts'
import { say, type Step } from '../support/chat-agents.ts'
import { startTalk } from '../chat/chat-checks.ts'

/** Breaks the streams that are answered, or those of that method, after so many bytes, and notes the requests. */
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

test('a reply whose connection breaks again and again is read on from where it was, each event once, and charged once', async () => {
  const service = await startTalk()
  const { key } = await service.createPerson()
  const { fetch, paths } = cutting(600)
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch })
  const { sessionId } = await client.sessions.create({ agentId: 'talk' })
  const stream = client.chat.stream({ sessionId, message: say(...steps), onDisconnect: 'continue' })
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

test('a reply that is stopped by its turn ends for whoever reads it, and one that broke off by itself tells what it cost', async () => {
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
  // Without onDisconnect the service stops what is cut, and the client is told so instead of an odd end.
  const cut = createClient({ baseUrl: service.url, apiKey: key, fetch: cutting(60, /POST/).fetch })
  const events = await collect(cut.chat.stream({ sessionId, message }))
  const [charge] = (await client.transactions.list({ type: 'chat_charge' })).transactions
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { message: 'The client left.' } })
  expect(`-${(events.at(-1) as { costUsd: string }).costUsd}`).toBe(charge?.amountUsd)
  await service.stop()
})
