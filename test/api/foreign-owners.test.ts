import { expect, test } from 'vitest'
import { startService } from '../support/test-service.ts'
import { connectorConfig } from './connector-calls.ts'
import { vias } from './session-calls.ts'

// Whatever a request creates belongs to the authenticated user, regardless of its body and query.

type Made = { path: string; rpc: string; list: string; body: object }

const made: readonly Made[] = [
  { path: '/api/keys', rpc: 'keys.create', list: 'keys', body: { name: 'Taken over' } },
  { path: '/api/sessions', rpc: 'sessions.create', list: 'sessions', body: { agentId: 'one' } },
  { path: '/api/connectors', rpc: 'connectors.create', list: 'connectors', body: { name: 'Own', server: 'plain' } },
]

for (const via of vias) {
  test.each(made)(
    `never creates anything for another user via POST $path, over ${via}`,
    async ({ path, rpc, list, body }) => {
      const service = await startService({ config: connectorConfig })
      const [caller, other] = [await service.createPerson(), await service.createPerson()]
      const before = (await service.get(path, other.key)).body
      const names = ['userId', 'user_id', 'owner', 'ownerId', 'createdBy', 'onBehalfOf', 'accountId']
      const wished = Object.fromEntries(names.map((name) => [name, other.userId]))
      const all = { ...body, ...wished, email: other.email, user: { id: other.userId }, isAdmin: true }
      const query = new URLSearchParams({ userId: other.userId, email: other.email })
      const answer =
        via === 'REST'
          ? await service.post(`${path}?${query}`, all, { key: caller.key })
          : await service.post(`/trpc/${rpc}?${query}`, { json: all }, { key: caller.key })
      // The service may reject or ignore unknown fields, but must not obey them.
      expect([200, 400]).toContain(answer.status)
      expect((await service.get(path, other.key)).body).toEqual(before)
      expect(JSON.stringify((await service.get(path, caller.key)).body)).not.toContain(other.userId)
      const own = (await service.get(path, caller.key)).body[list].length
      expect(own).toBe((list === 'keys' ? 1 : 0) + (answer.status === 200 ? 1 : 0))
      await service.stop()
    },
  )

  test(`a key created with a foreign userId belongs to its creator, over ${via}`, async () => {
    const service = await startService()
    const [caller, other] = [await service.createPerson({ balanceUsd: '1' }), await service.createPerson()]
    const body = { name: 'Taken over', userId: other.userId, scopes: ['read'] }
    const answer =
      via === 'REST'
        ? await service.post('/api/keys', body, { key: caller.key })
        : await service.post('/trpc/keys.create', { json: body }, { key: caller.key })
    const created = via === 'REST' ? answer.body : answer.body.result?.data.json
    if (answer.status === 200) {
      expect((await service.get('/api/account', created.key)).body).toMatchObject({ userId: caller.userId })
    } else expect(answer.status).toBe(400)
    await service.stop()
  })

  test(`never lets a user set the command of an MCP server, over ${via}`, async () => {
    const service = await startService({ config: connectorConfig })
    const { key } = await service.createPerson()
    const command = { command: 'touch', args: ['/tmp/errand-was-here'], env: { PATH: '/bin' }, cwd: '/' }
    const bodies = [
      { name: 'A', ...command },
      { name: 'B', type: 'stdio', ...command },
      { name: 'C', server: command },
      { name: 'D', server: 'touch' },
      { name: 'E', server: '../plain' },
      { name: 'F', url: 'stdio://touch' },
      { name: 'G', url: 'file:///bin/touch' },
      { name: 'H', stdio: command },
    ]
    for (const body of bodies) {
      const { status } =
        via === 'REST'
          ? await service.post('/api/connectors', body, { key })
          : await service.post('/trpc/connectors.create', { json: body }, { key })
      expect([400, 404], JSON.stringify(body)).toContain(status)
    }
    expect((await service.get('/api/connectors', key)).body.total).toBe(0)
    // A command sent along with the id of an operator's server has no effect.
    const beside = await service.post('/api/connectors', { name: 'Own', server: 'plain', ...command }, { key })
    if (beside.status === 200) expect(JSON.stringify(beside.body)).not.toContain('touch')
    else expect(beside.status).toBe(400)
    await service.stop()
  })
}
