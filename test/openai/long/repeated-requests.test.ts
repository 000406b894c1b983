import { expect, test } from 'vitest'
import { filesIn, soon, startTalk } from '../../chat/chat-checks.ts'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { say } from '../../support/chat-agents.ts'
import { newDataDir, type TestService } from '../../support/test-service.ts'
import { readSse, user, WireCalls } from '../wire-calls.ts'

async function start() {
  const service = await startTalk()
  return { service, mine: new WireCalls(service, await service.createPerson()) }
}

const retry = (count: number) => ({ 'X-Stainless-Retry-Count': String(count) })

test('an automatic retry gets the first response and is paid once', async () => {
  const { mine, service } = await start()
  for (const stream of [false, true]) {
    for (const ask of [mine.complete.bind(mine), mine.respond.bind(mine)]) {
      const before = (await mine.charges()).length
      const first = await ask('Hello', { stream }, retry(0))
      const again = await ask('Hello', { stream }, retry(1))
      expect(again.headers.get('errand-turn-id')).toBe(first.headers.get('errand-turn-id'))
      const data = ({ body }: any) => (stream ? readSse(body).length : body.usage)
      expect(data(again)).toEqual(data(first))
      expect(await mine.charges()).toHaveLength(before + 1)
      // Another request, or the same one without a retry mark, is charged.
      await ask('Hello you', { stream }, retry(1))
      await ask('Hello', { stream }, retry(0))
      await ask('Hello', { stream })
      expect(await mine.charges()).toHaveLength(before + 4)
    }
  }
  const stranger = new WireCalls(service, await service.createPerson())
  expect((await stranger.complete('Hello', { stream: false }, retry(1))).status).toBe(200)
  expect(await stranger.charges()).toHaveLength(1)
  // The same content in another session is another request.
  const asked = async (sessionId: string) =>
    (await mine.complete('Hello', { stream: false }, { ...retry(1), 'Errand-Session': sessionId })).headers
  const turnIds = (await mine.sessions()).slice(0, 2).map(async ({ id }) => (await asked(id)).get('errand-turn-id'))
  expect(new Set(await Promise.all(turnIds)).size).toBe(2)
  expect(await mine.sessions()).toHaveLength(8)
  await mine.expectSound()
  await service.stop()
})

test('repeated requests with an Idempotency-Key are charged once; a different request with that key is rejected', async () => {
  const { mine, service } = await start()
  const key = (name: string) => ({ 'Idempotency-Key': name })
  const first = await mine.complete('Hello', {}, key('one'))
  expect((await mine.complete('Hello', {}, key('one'))).body.id).toBe(first.body.id)
  const other = await mine.complete('Other', {}, key('one'))
  expect([other.status, other.headers.get('x-should-retry')]).toEqual([409, 'false'])
  const answers = await Promise.all(Array.from({ length: 10 }, () => mine.respond('Hello', {}, key('two'))))
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
  expect(await mine.charges()).toHaveLength(2)
  const [session, ...others] = await mine.sessions()
  expect(others).toEqual([])
  // Each response names the existing conversation, not an abandoned one.
  expect(new Set(answers.map(({ body }) => body.conversation.id))).toEqual(new Set([session.id]))
  await mine.expectSound()
  await service.stop()
})

type Sent = {
  mine: WireCalls
  service: TestService
  message: string
  headers?: Record<string, string>
  stream?: boolean
}

/** Sends a request that is cut once the agent has started. */
async function cut({ headers = {}, message, mine, service, stream = false }: Sent, hasBegun: () => boolean) {
  const leaving = new AbortController()
  const sent = fetch(`${service.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${mine.person.key}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'talk', messages: [user(message)], ...(stream && { stream }) }),
    signal: leaving.signal,
  }).catch(() => {})
  await expect.poll(hasBegun, soon).toBe(true)
  leaving.abort()
  await sent
}

test('a request whose connection breaks continues until it is retried', async () => {
  const { mine, service } = await start()
  const file = filesIn(service)
  const [begun, go] = [file('begun'), file('go')]
  const message = say({ do: 'touch', file: begun }, { do: 'await-file', file: go }, { do: 'text', delta: 'Done' })
  await cut({ mine, service, message, headers: retry(0) }, () => exists(begun))
  const again = mine.complete(message, {}, retry(1))
  writeFileSync(go, '')
  const { body, status } = await again
  expect([status, body.choices[0].message.content]).toEqual([200, 'Done'])
  expect(await mine.charges()).toHaveLength(1)
  await mine.expectSound()
  await service.stop()
})

test('a request whose connection breaks is stopped and settled without a retry', async () => {
  const { mine, service } = await start()
  const file = filesIn(service)
  for (const [index, { headers, stream }] of [{ headers: {} }, { headers: {}, stream: true }, { headers: retry(0) }]
    .map((one) => ({ stream: false, ...one }))
    .entries()) {
    const [begun, stopped] = [file(`begun-${index}`), file(`stopped-${index}`)]
    const steps = say(
      { do: 'note-abort', file: stopped },
      { do: 'text', delta: 'Begun' },
      { do: 'touch', file: begun },
      { do: 'await-abort' },
    )
    await cut({ mine, service, message: steps, headers, stream }, () => exists(begun))
    await expect.poll(() => exists(stopped), soon).toBe(true)
    await mine.expectSound()
    expect(await mine.charges()).toHaveLength(index + 1)
  }
  await service.stop()
})

test('a retry after a restart gets the end of its request, and is not charged again', async () => {
  const dataDir = newDataDir()
  const service = await startTalk({ dataDir, isInline: false, limits: { drainSeconds: 0 } })
  const mine = new WireCalls(service, await service.createPerson())
  const file = filesIn(service)
  const message = say({ do: 'touch', file: file('begun') }, { do: 'await-abort' })
  const done = await mine.complete('Hello', {}, retry(0))
  expect(done.status).toBe(200)
  const cutOff = cut({ mine, service, message, headers: retry(0) }, () => exists(file('begun')))
  await cutOff
  await service.stop()
  const again = await startTalk({ dataDir, isInline: false })
  const there = new WireCalls(again, mine.person)
  const interrupted = await there.complete(message, {}, retry(1))
  expect(interrupted.status).toBe(500)
  expect(interrupted.headers.get('x-should-retry')).toBe('false')
  // The reply to the other request was delivered and is no longer stored.
  const over = await there.complete('Hello', {}, retry(1))
  expect([over.status, over.headers.get('x-should-retry')]).toEqual([410, 'false'])
  expect(await there.charges()).toHaveLength(1)
  await there.expectSound()
  await again.stop()
  rmSync(dataDir, { recursive: true })
})

function exists(file: string): boolean {
  try {
    readFileSync(file)
    return true
  } catch {
    return false
  }
}
