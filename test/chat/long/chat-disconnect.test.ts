import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { say, type Step } from '../../support/chat-agents.ts'
import {
  expectOneEnd,
  expectSound,
  filesIn,
  priceOf,
  readNumber,
  soon,
  startTalk,
  Talker,
  unitsOf,
} from '../chat-checks.ts'

const text: Step = { do: 'text', delta: 'Some text. ' }

const modes = [{ isInline: false }, { isInline: true }]

test.for(modes)(
  "a client that leaves midway fires the agent's signal within a second and is charged once (inline: $isInline)",
  async ({ isInline }) => {
    const service = await startTalk({ isInline })
    const talker = await Talker.create(service)
    const file = filesIn(service)('aborted')
    const message = say(
      { do: 'note-abort', file },
      text,
      text,
      { do: 'wait', ms: 600_000 },
      { do: 'text', delta: 'Never' },
    )
    const reader = await talker.open(message)
    await reader.until('assistant_delta')
    const leftAt = Date.now()
    reader.leave()
    await expect.poll(() => existsSync(file), soon).toBe(true)
    expect(readNumber(file) - leftAt).toBeLessThan(1000)
    await talker.settled()
    const [charge, ...more] = await talker.charges()
    expect(more).toEqual([])
    expect(charge.breakdown).toMatchObject({ isEstimated: true, completionTokens: expect.any(Number) })
    expect(charge.breakdown.completionTokens).toBeGreaterThan(0)
    expect(-unitsOf(charge.amountUsd)).toBe(priceOf(charge.breakdown))
    expect(await talker.messages()).toMatchObject([
      { role: 'user', content: message, turnId: charge.turnId },
      { role: 'assistant', content: 'Some text. Some text. ', truncated: true, turnId: charge.turnId },
    ])
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(1)
    await expectSound(talker)
    await service.stop()
  },
)

test('a client that leaves before the first event pays at most for the prompt, once', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const files = filesIn(service)
  const reader = await talker.do(
    { do: 'note-abort', file: files('aborted') },
    { do: 'touch', file: files('begun') },
    { do: 'wait', ms: 600_000 },
  )
  await expect.poll(() => existsSync(files('begun')), soon).toBe(true)
  reader.leave()
  await expect.poll(() => existsSync(files('aborted')), soon).toBe(true)
  await talker.settled()
  const charges = await talker.charges()
  expect(charges.length).toBeLessThanOrEqual(1)
  for (const { breakdown } of charges) expect(breakdown).toMatchObject({ completionTokens: 0, toolCalls: 0 })
  await expectSound(talker)
  await service.stop()
})

test('settles a turn once for its usage so far, no matter after which line the client leaves', async () => {
  const service = await startTalk()
  for (let lines = 1; lines <= 6; lines++) {
    const talker = await Talker.create(service)
    const steps = Array.from({ length: lines }, (): Step => text)
    const reader = await talker.do(...steps, { do: 'await-abort' })
    await expect.poll(() => reader.events.length, soon).toBe(lines)
    reader.leave()
    await talker.settled()
    const charges = await talker.charges()
    expect(charges).toHaveLength(1)
    expect(-unitsOf(charges[0].amountUsd)).toBe(priceOf(charges[0].breakdown))
    expect((await talker.messages())[1].content).toBe('Some text. '.repeat(lines))
    await expectSound(talker)
  }
  await service.stop()
})

test('an agent that ignores its signal does not delay settlement', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const reader = await talker.do(text, { do: 'sleep', ms: 40_000 }, { do: 'text', delta: 'Too late.' })
  await reader.until('assistant_delta')
  reader.leave()
  await expect.poll(async () => (await talker.charges()).length, soon).toBe(1)
  await expectSound(talker)
  expect((await talker.messages())[1]).toMatchObject({ content: 'Some text. ', truncated: true })
  await service.stop()
})

test('charges usage after the last report if the client leaves, and marks it as estimated', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const reader = await talker.do(
    { do: 'text', delta: 'First step. ' },
    { do: 'usage', promptTokens: 50, completionTokens: 10 },
    { do: 'text', delta: 'The second step of the reply. ', times: 20 },
    { do: 'await-abort' },
  )
  await expect.poll(() => reader.events.length, soon).toBe(21)
  reader.leave()
  await talker.settled()
  const [charge] = await talker.charges()
  expect(charge.breakdown).toMatchObject({ promptTokens: 50, isEstimated: true })
  expect(charge.breakdown.completionTokens).toBeGreaterThan(100)
  await service.stop()
})

test('charges a reply with complete usage reports as reported if its client leaves', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const reader = await talker.do(
    text,
    { do: 'usage', promptTokens: 50, completionTokens: 10 },
    { do: 'call', id: 'a' },
    { do: 'await-abort' },
  )
  await reader.until('tool_call')
  reader.leave()
  await talker.settled()
  const [charge] = await talker.charges()
  expect(charge.breakdown).toMatchObject({ promptTokens: 50, completionTokens: 10, toolCalls: 1, isEstimated: false })
  await service.stop()
})

test('a reader stalled for writeStallSeconds counts as disconnected: its turn settles, its connection closes', async () => {
  const service = await startTalk({ limits: { writeStallSeconds: 1 } })
  const talker = await Talker.create(service, { balanceUsd: '10000' })
  const file = filesIn(service)('aborted')
  const reader = await talker.do(
    { do: 'note-abort', file },
    { do: 'text', delta: 'First' },
    { do: 'flood', times: 200_000, delta: 'x'.repeat(200) },
  )
  await reader.until('assistant_delta')
  reader.pause()
  await expect.poll(() => existsSync(file), soon).toBe(true)
  await talker.settled()
  expect(await talker.charges()).toHaveLength(1)
  // The reply has the maximum size of a page.
  const { body } = await service.get(`/api/sessions/${talker.sessionId}/messages?offset=1`, talker.key)
  expect(body.messages[0].truncated).toBe(true)
  reader.resume()
  expect(await reader.wasCutOff()).toBe(true)
  await expectSound(talker)
  await service.stop()
})

test('pauses a flood of events while its reader pauses, then delivers all of them in order', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service, { balanceUsd: '10000' })
  const file = filesIn(service)('count')
  const times = 100_000
  const delta = 'x'.repeat(100)
  await expectOneEnd(await talker.chat(say({ do: 'flood', times: 1000, delta })), 'done')
  const before = process.memoryUsage().rss
  const reader = await talker.do({ do: 'flood', times, delta, file })
  await reader.until('assistant_delta')
  reader.pause()
  // Waits until the agent has made no step for half a second, which means that it has stopped.
  let steps = -1
  await expect
    .poll(
      () => {
        const earlier = steps
        steps = readNumber(file)
        return steps > 0 && steps === earlier
      },
      { timeout: 20_000, interval: 500 },
    )
    .toBe(true)
  expect(steps).toBeLessThan(times / 2)
  expect(process.memoryUsage().rss - before).toBeLessThan(80 * 2 ** 20)
  expect((await service.get('/api/account', talker.key)).status).toBe(200)
  reader.resume()
  const events = await reader.all()
  expectOneEnd(events, 'done')
  expect(events).toHaveLength(times + 1)
  expect(readNumber(file)).toBe(times)
  await expectSound(talker)
  await service.stop()
})

test('DELETE of a session stops and settles its running chat, and deletes all data of the session', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const file = filesIn(service)('aborted')
  const reader = await talker.do({ do: 'note-abort', file }, text, { do: 'wait', ms: 600_000 })
  await reader.until('assistant_delta')
  const deleted = await service.request('DELETE', `/api/sessions/${talker.sessionId}`, { key: talker.key })
  expect([deleted.status, deleted.body]).toEqual([200, { message: expect.any(String) }])
  expect(existsSync(file)).toBe(true)
  const end = expectOneEnd(await reader.all(), 'error')
  expect(end.error.code).toBe('AGENT_INTERRUPTED')
  const [charge, ...more] = await talker.charges()
  expect(more).toEqual([])
  expect(charge.amountUsd).toBe(`-${end.costUsd}`)
  expect((await service.get(`/api/sessions/${talker.sessionId}`, talker.key)).status).toBe(404)
  expect((await service.get(`/api/sessions/${talker.sessionId}/messages`, talker.key)).status).toBe(404)
  expect((await talker.open('Hello')).status).toBe(404)
  expect(await service.app.store.readHistory({ sessionId: talker.sessionId, tokensMax: 1e6 })).toMatchObject({
    messages: [],
  })
  await expectSound(await talker.another())
  await service.stop()
})

test('PATCH to completed lets a running chat finish, then rejects further messages', async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const release = filesIn(service)('release')
  const reader = await talker.do(text, { do: 'await-file', file: release }, { do: 'text', delta: 'End.' })
  await reader.until('assistant_delta')
  const patched = await service.request('PATCH', `/api/sessions/${talker.sessionId}`, {
    key: talker.key,
    body: { status: 'completed', metadata: { rated: 5 } },
  })
  expect(patched).toMatchObject({ status: 200, body: { status: 'completed', metadata: { rated: 5 } } })
  const { writeFileSync } = await import('node:fs')
  writeFileSync(release, '')
  expectOneEnd(await reader.all(), 'done')
  expect((await talker.messages())[1]).toMatchObject({ content: 'Some text. End.' })
  expect(await talker.session()).toMatchObject({ status: 'completed', messageCount: 2, metadata: { rated: 5 } })
  expect((await talker.open('Hello')).status).toBe(409)
  await service.stop()
})
