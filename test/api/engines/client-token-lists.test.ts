import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import { startService } from '../../support/test-service.ts'
import { PlatformCalls } from '../platform-calls.ts'
import { expectStatus, signIn } from '../signed-in.ts'

test('a user sees the active tokens of all creators, newest first, and what each spent of its cap', async () => {
  const clock = new FakeClock()
  const service = await startService({ clock })
  const { key, userId } = await service.createPerson()
  const other = await service.createPerson()
  const browser = await signIn(service, userId)
  const platform = await PlatformCalls.open(service)
  const made: { id: string; createdBy: string; token: string }[] = []
  for (const create of [
    () => service.post('/api/client-tokens', { expiresInSeconds: 60 }, { key }),
    () => browser.post('/api/client-tokens', {}),
    () => platform.post('/api/client-tokens', { maxCostUsd: '1', scopes: ['execute'] }, { user: userId }),
  ]) {
    made.push(await expectStatus(200, create()))
    clock.advance(1)
  }
  await expectStatus(200, service.post('/api/client-tokens', {}, { key: other.key }))
  const { token, ...capped } = made[2]!
  await expectStatus(200, service.createTask(token, 'test.echo', {}))

  const manager = await service.createKey(userId, ['manage'])
  const list = (query = '') => expectStatus(200, service.get(`/api/client-tokens${query}`, manager))
  const all = await list()
  expect(all).toMatchObject({
    clientTokens: made.toReversed().map(({ id }) => ({ id })),
    total: 3,
    limit: 50,
    offset: 0,
  })
  expect(all.clientTokens[0]).toEqual({ ...capped, usedUsd: expect.stringMatching(/^0\.0*[1-9]/) })
  expect(all.clientTokens[0].createdBy).toBe(platform.keyId)
  expect(JSON.stringify(all)).not.toContain('errand_ct_')
  expect(await expectStatus(200, platform.get('/api/client-tokens', userId))).toEqual(all)
  expect((await browser.get('/api/client-tokens')).body).toEqual(all)
  const page = await list('?limit=1&offset=1')
  expect(page).toMatchObject({ clientTokens: [{ id: made[1]!.id }], total: 3 })
  expect((await service.get('/api/client-tokens', await service.createKey(userId, ['execute']))).status).toBe(403)

  // Tokens that expired, that were revoked or whose creator ended are not listed.
  const ids = async () => {
    const { clientTokens, total } = await list()
    expect(clientTokens).toHaveLength(total)
    return clientTokens.map(({ id }: { id: string }) => id)
  }
  await browser.post('/api/logout', {})
  expect(await ids()).toEqual([made[2]!.id, made[0]!.id])
  await expectStatus(200, service.request('DELETE', `/api/client-tokens/${capped.id}`, { key: manager }))
  expect(await ids()).toEqual([made[0]!.id])
  clock.advance(60_000)
  expect(await ids()).toEqual([])
  await service.stop()
})
