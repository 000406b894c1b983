import { expect, test } from 'vitest'
import { PlatformCalls } from '../api/platform-calls.ts'
import { startTalk } from '../chat/chat-checks.ts'
import type { Person, TestService } from '../support/test-service.ts'
import { WireCalls } from './wire-calls.ts'

const by = (service: TestService, person: Person, key: string) => new WireCalls(service, { ...person, key })
const outcomeOf = ({ body, status }: { body: any; status: number }) => [status, body.error?.code]

test('a key is limited to its scopes, and a client token to its agents, session or task', async () => {
  const service = await startTalk()
  const owner = await service.createPerson()
  const mine = new WireCalls(service, owner)
  const reader = by(service, owner, await service.createKey(owner.userId, ['read']))
  const runner = by(service, owner, await service.createKey(owner.userId, ['execute']))
  expect(outcomeOf(await reader.complete('Hello'))).toEqual([403, 'permission_denied'])
  expect(outcomeOf(await reader.respond('Hello'))).toEqual([403, 'permission_denied'])
  const { body } = await runner.respond('Hello')
  expect([(await reader.get('/models')).status, (await reader.get(`/responses/${body.id}`)).status]).toEqual([200, 200])
  expect((await runner.get(`/responses/${body.id}`)).status).toBe(200)

  const token = async (input: object) => {
    const made = await service.post('/api/client-tokens', input, { key: owner.key })
    return by(service, owner, made.body.token)
  }
  const ofAgent = await token({ agents: ['quiet'] })
  expect((await ofAgent.get('/models')).body.data.map(({ id }: any) => id)).toEqual(['quiet'])
  expect(outcomeOf(await ofAgent.complete('Hello'))).toEqual([404, 'model_not_found'])
  expect((await ofAgent.complete('Hello', { model: 'quiet' })).status).toBe(200)
  const capped = await token({ maxCostUsd: '0.0001' })
  expect(outcomeOf(await capped.complete('Hello'))).toEqual([402, 'limit_reached'])
  const sessionId = body.conversation.id
  const bound = await token({ sessionId })
  expect(outcomeOf(await bound.complete('Hello'))).toEqual([403, 'permission_denied'])
  expect((await bound.complete('Hello', {}, { 'Errand-Session': sessionId })).status).toBe(200)
  const other = await mine.respond('Hello')
  const elsewhere = { 'Errand-Session': other.body.conversation.id }
  expect(outcomeOf(await bound.complete('Hello', {}, elsewhere))).toEqual([404, 'not_found'])
  expect(outcomeOf(await bound.get(`/responses/${other.body.id}`))).toEqual([404, 'response_not_found'])
  for (const conversation of [other.body.conversation.id, other.body.conversation]) {
    expect((await bound.respond('Hello', { conversation })).status).toBe(403)
  }
  await mine.expectSound()
  await service.stop()
})

test('a platform key acts for a user, and without a user has no models', async () => {
  const service = await startTalk()
  const platform = await PlatformCalls.open(service)
  const userId = await platform.newUser('customer-1')
  const ask = { model: 'talk', messages: [{ role: 'user', content: 'Hello' }] }
  const answer = await platform.post('/v1/chat/completions', ask, { user: 'ext:customer-1' })
  expect(answer.status).toBe(200)
  expect((await service.app.store.getAccount(userId))!.balance).toBeLessThan(100_000)
  expect(outcomeOf(await platform.post('/v1/chat/completions', ask))).toEqual([403, 'permission_denied'])
  expect(outcomeOf(await platform.get('/v1/models'))).toEqual([403, 'permission_denied'])
  await service.stop()
})

test("another user's response gets the same error as an unknown response", async () => {
  const service = await startTalk()
  const mine = new WireCalls(service, await service.createPerson())
  const stranger = new WireCalls(service, await service.createPerson())
  const { id, conversation } = (await mine.respond('Hello')).body
  const unknown = `resp_${'0'.repeat(26)}`
  const same = async (ask: (of: { id: string; session: string }) => Promise<{ body: any; status: number }>) => {
    const [theirs, nobodys] = await Promise.all([
      ask({ id, session: conversation.id }),
      ask({ id: unknown, session: `ses_${'0'.repeat(26)}` }),
    ])
    expect([theirs.status, theirs.body]).toEqual([nobodys.status, nobodys.body])
    expect(theirs.status).toBe(404)
  }
  const { key } = stranger.person
  await same(({ id: one }) => stranger.get(`/responses/${one}`))
  await same(({ id: one }) => stranger.get(`/responses/${one}?stream=true`))
  await same(({ id: one }) => stranger.post(`/responses/${one}/cancel`, {}))
  await same(({ id: one }) => service.request('DELETE', `/v1/responses/${one}`, { key }))
  await same(({ id: one }) => stranger.respond('Hello', { previous_response_id: one }))
  await same(({ session }) => stranger.respond('Hello', { conversation: session }))
  await same(({ session }) => stranger.complete('Hello', {}, { 'Errand-Session': session }))
  expect(await stranger.charges()).toEqual([])
  await service.stop()
})
