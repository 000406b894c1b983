import { expect, test } from 'vitest'
import { startService, type Person, type TestService } from '../support/test-service.ts'
import { ConnectorCalls, connectorConfig } from './connector-calls.ts'
import { vias, type Via } from './session-calls.ts'

const url = 'https://mcp.example.com/mcp'
const bearer = { type: 'bearer', token: 'a-token-of-the-user' }

type World = { service: TestService; person: Person; calls: ConnectorCalls }

for (const via of vias) {
  const titled = (title: string, body: (world: World) => Promise<void>) =>
    test(`${title}, over ${via}`, async () => {
      const service = await startService({ config: connectorConfig, privateHosts: ['127.0.0.1'] })
      const person = await service.createPerson()
      await body({ service, person, calls: new ConnectorCalls(service, person.key, via) })
      await service.stop()
    })
  describeConnectors(titled, via)
}

type Titled = (title: string, body: (world: World) => Promise<void>) => void

function describeConnectors(titled: Titled, via: Via): void {
  titled('reading a connector returns what was created, without its secrets', async ({ calls }) => {
    const { body: created, status } = await calls.create({
      name: ' Docs ☃ ',
      url,
      auth: bearer,
      allowedTools: ['look'],
    })
    expect(status).toBe(200)
    expect(created).toEqual({
      id: expect.stringMatching(/^con_[0-9a-z]{26}$/),
      name: 'Docs ☃',
      type: 'mcp',
      url,
      server: null,
      auth: { type: 'bearer' },
      allowedTools: ['look'],
      status: 'untested',
      statusMessage: null,
      checkedAt: null,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: created.createdAt,
    })
    const headers = { type: 'headers', headers: { 'X-Api-Key': 'one two', Authorization: 'Basic abc' } }
    const other = await calls.add({ name: 'Other', type: 'mcp', auth: headers })
    expect(other).toMatchObject({ auth: { type: 'headers' }, allowedTools: null })
    const server = await calls.add({ name: 'Server', url: undefined, server: 'token', auth: bearer })
    expect(server).toMatchObject({ url: null, server: 'token', auth: { type: 'bearer' } })
    for (const one of [created, other, server]) expect((await calls.get(one.id)).body).toEqual(one)
    const { body: list } = await calls.list()
    expect(list).toEqual({ connectors: [server, other, created], total: 3, limit: 50, offset: 0 })
    const { body: page } = await calls.list({ limit: 1, offset: 1 })
    expect(page).toEqual({ connectors: [other], total: 3, limit: 1, offset: 1 })
  })

  titled('updates only the given fields; deletion frees the name and later calls return 404', async ({ calls }) => {
    const connector = await calls.add({ auth: bearer })
    const { id } = connector
    expect((await calls.update(id, { name: ' Renamed ' })).body).toEqual({
      ...connector,
      name: 'Renamed',
      updatedAt: expect.any(String),
    })
    const { body: restricted } = await calls.update(id, { allowedTools: [] })
    expect(restricted).toMatchObject({ name: 'Renamed', allowedTools: [], auth: { type: 'bearer' }, url })
    expect((await calls.update(id, { allowedTools: null })).body.allowedTools).toBeNull()
    expect((await calls.update(id, { auth: { type: 'none' } })).body.auth).toEqual({ type: 'none' })
    const { body: read } = await calls.get(id)
    expect(read).toMatchObject({ name: 'Renamed', auth: { type: 'none' }, allowedTools: null })
    expect(await calls.delete(id)).toMatchObject({ status: 200, body: { message: 'Connector deleted' } })
    const gone = {
      error: 'Not found',
      message: 'Connector not found. Check the id.',
      statusCode: 404,
      code: 'NOT_FOUND',
    }
    for (const answer of [
      await calls.get(id),
      await calls.update(id, { name: 'Back' }),
      await calls.delete(id),
      await calls.test(id),
      await calls.tools(id),
    ]) {
      expect(answer.body).toEqual(gone)
    }
    expect((await calls.list()).body.total).toBe(0)
    await calls.add({ name: 'Renamed' })
  })

  titled('returns 409 for a duplicate connector name; names are per user and case-sensitive', async (world) => {
    const { calls, service } = world
    const [first, second] = [await calls.add({ name: 'Docs' }), await calls.add({ name: 'docs' })]
    const taken = {
      error: 'Conflict',
      message: 'You already have a connector with the name "Docs". Choose another name.',
      statusCode: 409,
      code: 'CONFLICT',
      details: [{ path: 'name', message: 'Must be different from the names of your other connectors' }],
    }
    expect((await calls.create({ name: ' Docs ', url })).body).toEqual(taken)
    expect((await calls.update(second.id, { name: 'Docs', allowedTools: [] })).body).toEqual(taken)
    expect((await calls.list()).body.connectors).toEqual([second, first])
    const { key } = await service.createPerson()
    await new ConnectorCalls(service, key, via).add({ name: 'Docs' })
  })

  titled("returns 409 for a user's 101st connector until one is deleted", async ({ calls }) => {
    const made = await Promise.all(Array.from({ length: 100 }, (_, n) => calls.add({ name: `n${n}` })))
    const refused = await calls.create({ name: 'one more', url })
    expect(refused.body).toMatchObject({
      statusCode: 409,
      message: expect.stringMatching(/already has 100 connectors/),
    })
    expect((await calls.list({ limit: 1 })).body.total).toBe(100)
    await calls.delete(made[7].id)
    await calls.add({ name: 'one more' })
  })

  titled(
    'requires the scope read for viewing, execute for connecting and manage for changing connectors',
    async ({ calls, person, service }) => {
      const { id } = await calls.add({ url: 'http://127.0.0.1:1/' })
      const allowed: Record<string, (own: ConnectorCalls) => Promise<{ status: number }>> = {
        'read get': (own) => own.get(id),
        'read list': (own) => own.list(),
        'read servers': (own) => own.servers(),
        'execute test': (own) => own.test(id),
        'execute tools': (own) => own.tools(id),
        'manage create': (own) => own.create({ name: 'new', url }),
        'manage update': (own) => own.update(id, { name: 'renamed' }),
        'manage delete': (own) => own.delete(id),
      }
      for (const scope of ['read', 'execute', 'manage'] as const) {
        const own = new ConnectorCalls(service, await service.createKey(person.userId, [scope]), via)
        for (const [operation, call] of Object.entries(allowed)) {
          const mayPass = operation.startsWith(scope)
          const { status } = await call(own)
          const expected = operation === 'execute tools' ? 424 : 200
          expect(status, `${operation} with ${scope}`).toBe(mayPass ? expected : 403)
        }
      }
    },
  )

  titled("every operation on another user's connector returns 404 and changes nothing", async ({ calls, service }) => {
    const connector = await calls.add({ auth: bearer })
    const { id } = connector
    const stranger = await service.createPerson()
    const theirs = new ConnectorCalls(service, stranger.key, via)
    const unknown = 'con_00000000000000000000000000'
    for (const call of [
      (of: string) => theirs.get(of),
      (of: string) => theirs.update(of, { name: 'mine', url: 'https://evil.example.com/', auth: { type: 'none' } }),
      (of: string) => theirs.delete(of),
      (of: string) => theirs.test(of),
      (of: string) => theirs.tools(of),
    ]) {
      const [foreign, missing] = [await call(id), await call(unknown)]
      expect(foreign.status).toBe(404)
      expect(foreign.body).toEqual(missing.body)
    }
    expect((await theirs.list()).body).toMatchObject({ connectors: [], total: 0 })
    expect((await calls.get(id)).body).toEqual(connector)
  })

  titled("lists the operator's servers without their commands and environment", async ({ calls }) => {
    const servers = [
      { id: 'plain', name: 'Node', description: 'Takes no token.', takesToken: false },
      { id: 'token', name: 'Node', description: '', takesToken: true },
    ]
    expect((await calls.servers()).body).toEqual({ servers, total: 2, limit: 50, offset: 0 })
    const { body: second } = await calls.servers({ limit: 1, offset: 1 })
    expect(second).toEqual({ servers: servers.slice(1), total: 2, limit: 1, offset: 1 })
    expect((await calls.servers({ offset: 2 })).body.servers).toEqual([])
  })
}
