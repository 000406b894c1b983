import { expect, test } from 'vitest'
import { directCall } from '../../server/procedures/call-procedure.ts'
import { unlimited } from '../../server/procedures/caller.ts'
import type { Context } from '../../server/procedures/context.ts'
import { pageTurn } from '../../server/procedures/page-turn.ts'
import { createRootRouter, type AppRouter } from '../../server/edge/root-router.ts'
import { startService } from '../support/test-service.ts'

test('serves one large page per user and tick without delaying other users', async () => {
  let turns = 0
  const count = () => {
    turns++
    ticking = setImmediate(count)
  }
  let ticking = setImmediate(count)
  const turnOf = async (userId: string) => {
    await pageTurn(userId)
    return turns
  }
  const [first, other] = await Promise.all([
    Promise.all(Array.from({ length: 50 }, () => turnOf('first'))),
    turnOf('other'),
  ])
  clearImmediate(ticking)
  expect(new Set(first).size).toBe(50)
  expect(other).toBeLessThanOrEqual(first[1]!)
})

test.each([
  ['messages', ({ sessions }: AppRouter) => sessions.messages],
  ['connectors', ({ connectors }: AppRouter) => connectors.list],
])('queues up to 100 pages of %s and rejects further ones with 503', async (_what, listOf) => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const { sessionId } = (await service.post('/api/sessions', { agentId: 'talk' }, { key })).body
  const caller = {
    userId,
    email: '',
    isAdmin: false,
    scopes: ['read'],
    credential: { kind: 'operator' },
    ...unlimited,
  }
  const context = { caller } as unknown as Context
  const list = directCall(listOf(createRootRouter(service.app.services)))
  const read = async () => await list({ context, input: { sessionId }, signal: undefined })
  const ends = await Promise.allSettled(Array.from({ length: 130 }, read))
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
  expect(refused).toHaveLength(30)
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([503]))
  expect((await service.get(`/api/sessions/${sessionId}/messages`, key)).status).toBe(200)
  await service.stop()
})
