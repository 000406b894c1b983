import { expect, test } from 'vitest'
import { say, type Step } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { expectOneEnd, expectSound, startTalk, Talker, unitsOf } from './chat-checks.ts'

const flood: Step = { do: 'flood', times: 100_000, delta: 'sixteen letters ', everyMs: 1 }

test("ends a chat at its key's spending limit, and rejects the next chat with the reset time", async () => {
  const service = await startTalk()
  const talker = await Talker.create(service)
  const limits = { name: 'limited', limitUsd: '0.5', limitReset: 'month' }
  const { body: limited } = await service.post('/api/keys', limits, { key: talker.key })
  const chat = { sessionId: talker.sessionId, message: say(flood) }
  const open = () => ChatReader.open({ url: service.url, key: limited.key, body: chat })
  const end = expectOneEnd(await (await open()).all(), 'error')
  expect(end.error).toEqual({ code: 'LIMIT_REACHED', message: expect.stringContaining('spending limit') })
  const [charge] = await talker.charges()
  expect(charge.amountUsd).toBe(`-${end.costUsd}`)
  expect(unitsOf(end.costUsd)).toBeLessThanOrEqual(5000)
  // At one token per byte, as the hold assumes, the reply could have cost the whole limit.
  expect(unitsOf(end.costUsd)).toBeGreaterThan(5000 / 5)
  const key = async () =>
    (await service.get('/api/keys', talker.key)).body.keys.find(({ id }: { id: string }) => id === limited.id)
  expect(await key()).toMatchObject({ usedUsd: end.costUsd })

  await service.request('PATCH', `/api/keys/${limited.id}`, { key: talker.key, body: { limitUsd: end.costUsd } })
  const refused = await open()
  expect(refused.status).toBe(403)
  const { resetsAt } = await key()
  const line = await refused.end()
  expect(line).toMatchObject({ type: 'error', code: 'LIMIT_REACHED', statusCode: 403 })
  expect(line.error.message).toContain(`The limit resets at ${resetsAt}.`)
  // The session continues with another of the user's keys.
  expect(expectOneEnd(await talker.chat('Hello'), 'done')).toMatchObject({ type: 'done' })
  await expectSound(talker)
  await service.stop()
})
