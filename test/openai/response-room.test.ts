import { expect, test } from 'vitest'
import { startTalk } from '../chat/chat-checks.ts'
import { sessionsMax } from '../../server/store/limits/account-bounds.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { withRaw } from '../support/test-engine.ts'
import type { TestService } from '../support/test-service.ts'
import { WireCalls } from './wire-calls.ts'

async function start() {
  const clock = new FakeClock()
  const service = await startTalk({ clock })
  const mine = new WireCalls(service, await service.createPerson({ balanceUsd: '10' }))
  const create = async () =>
    await service.post('/api/sessions', { agentId: 'talk', metadata: { own: true } }, { key: mine.person.key })
  return { clock, service, mine, create }
}

/** Raises the user's session count in the store by this many. */
async function count(service: TestService, userId: string, more: number): Promise<void> {
  await withRaw(service.dataDir, (raw) =>
    raw.query(`UPDATE session_totals SET open = open + ${more} WHERE user_id = '${userId}'`),
  )
}

test('at the session limit, the least recently used response conversation is deleted', async () => {
  const { clock, create, mine, service } = await start()
  const own = (await create()).body.sessionId
  const first = (await mine.respond('One')).body
  clock.advance(1)
  const second = (await mine.respond('Two')).body
  clock.advance(1)
  const continued = (await mine.respond('One more', { previous_response_id: first.id })).body
  clock.advance(1)
  const third = (await mine.respond('Three')).body
  await count(service, mine.person.userId, sessionsMax - 4)

  const fourth = await mine.respond('Four')
  expect(fourth.status).toBe(200)
  const gone = await mine.get(`/responses/${second.id}`)
  expect([gone.status, gone.body.error.code]).toEqual([404, 'response_not_found'])
  const next = await mine.respond('Two more', { previous_response_id: second.id })
  expect([next.status, next.body.error.param]).toEqual([404, 'previous_response_id'])

  // Creating one of the user's own sessions evicts a response in the same way. Such a session is never evicted itself.
  const other = (await create()).body.sessionId
  expect((await mine.get(`/responses/${continued.id}`)).status).toBe(404)
  const recent = await mine.respond('Three more', { previous_response_id: third.id })
  expect([recent.status, recent.body.conversation]).toEqual([200, third.conversation])
  const left = (await mine.sessions()).map(({ id }) => id)
  expect(new Set(left)).toEqual(new Set([own, other, third.conversation.id, fourth.body.conversation.id]))
  await count(service, mine.person.userId, 4 - sessionsMax)
  await mine.expectSound()
  await service.stop()
})

test("at the session limit, new responses replace only older responses, never the user's own sessions", async () => {
  const { create, mine, service } = await start()
  await create()
  await count(service, mine.person.userId, sessionsMax - 2)
  for (let at = 0; at < 5; at++) expect((await mine.respond(`Message ${at}`)).status).toBe(200)
  expect(await mine.sessions()).toHaveLength(2)
  await service.request('DELETE', `/api/sessions/${(await mine.sessions())[0].id}`, { key: mine.person.key })
  await count(service, mine.person.userId, 1)
  const refused = await create()
  expect([refused.status, refused.body.message]).toEqual([
    409,
    'This account already has 50000 sessions, the maximum. Delete some of them first.',
  ])
  expect((await mine.respond('Hello', { store: false })).status).toBe(200)
  await count(service, mine.person.userId, 1 - sessionsMax)
  await mine.expectSound()
  await service.stop()
})
