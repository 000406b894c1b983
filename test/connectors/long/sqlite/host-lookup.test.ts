import { lookup } from 'node:dns/promises'
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { agentService } from '../../../../server/agents/http/http-failure.ts'
import { FairPlaces } from '../../../../server/kernel/fair-places.ts'
import { dial, type Lookups } from '../../../../server/outbound/dial.ts'
import { HostNotFoundError, lookUpHost } from '../../../../server/outbound/host-lookup.ts'
import { openGuard, post, startServer, stopAll } from '../../guarded-server.ts'
import { startNameServer, type NameServer } from '../../name-server.ts'

const v6 = '2606:4700:0:0:0:0:0:1111'

const stops: (() => unknown)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop()
  await stopAll()
})

async function serve(zone: Parameters<typeof startNameServer>[0]): Promise<NameServer> {
  const server = await startNameServer(zone)
  stops.push(() => server.stop())
  return server
}

const find = (host: string, server: NameServer, isOperators = false) =>
  lookUpHost(host, { signal: new AbortController().signal, isOperators, nameServers: [server.address] })

test('finds addresses of both families, even if the name server returns only one', async () => {
  const both = await serve(() => ['1.1.1.1', v6])
  expect((await find('both.example.', both)).map(({ family }) => family)).toEqual([4, 6])
  const one = await serve(() => [v6])
  expect(await find('ONE.example', one)).toEqual([{ address: '2606:4700::1111', family: 6 }])
  expect([...one.names]).toEqual(['one.example'])
})

test('reports unknown, refused and unanswered names as not found', async () => {
  const server = await serve((name) =>
    name.startsWith('unknown') ? 'unknown' : name.startsWith('silent') ? 'silent' : 'refused',
  )
  for (const host of ['unknown.example', 'refused.example', 'silent.example']) {
    await expect(find(host, server)).rejects.toBeInstanceOf(HostNotFoundError)
  }
})

test('resolves local host names without a name server', async () => {
  const server = await serve(() => ['1.1.1.1'])
  for (const host of ['localhost', 'LOCALHOST.', 'mcp.localhost']) {
    const [first] = await find(host, server, true)
    expect(first!.address).toMatch(/^127\.|^::1$/)
  }
  const accepts = (address: string) => !address.startsWith('127.') && address !== '::1'
  const signal = new AbortController().signal
  const options = { signal, accepts, isOperators: false, nameServers: [server.address] }
  await expect(lookUpHost('localhost', options)).rejects.toBeInstanceOf(HostNotFoundError)
  expect([...server.names]).toEqual([])
})

test('a lookup ends when its signal aborts, regardless of the name servers', async () => {
  const server = await serve(() => 'silent')
  const controller = new AbortController()
  const looking = lookUpHost('dead.example', {
    signal: controller.signal,
    isOperators: false,
    nameServers: [server.address],
  })
  await expect.poll(() => server.names.size).toBe(1)
  const reason = new Error('left')
  controller.abort(reason)
  await expect(looking).rejects.toBe(reason)
})

/** Returns lookups that use this name server, and share slots with the user's other lookups. */
function lookupsAt(server: NameServer, { places = new FairPlaces({ perUser: 8 }), userId = 'one' } = {}): Lookups {
  const lookUp: typeof lookUpHost = (host, options) => lookUpHost(host, { ...options, nameServers: [server.address] })
  return { userId, places, lookUp }
}

test('limits a user to eight concurrent lookups without delaying other users or the process', async () => {
  const server = await serve((name) => (name.startsWith('dead') ? 'silent' : 'unknown'))
  const places = new FairPlaces({ perUser: 8 })
  const guards = Array.from({ length: 30 }, () =>
    openGuard({ lookups: lookupsAt(server, { places }), connectMs: 60_000 }),
  )
  const failures = guards.map((guard, n) =>
    guard.fetch(`https://dead${n}.example/`, post()).catch((error: Error) => error.message),
  )
  await expect.poll(() => server.names.size).toBe(8)
  const other = openGuard({ lookups: lookupsAt(server, { places, userId: 'two' }) })
  await expect(other.fetch('https://alive.example/', post())).rejects.toThrow('is private')
  // The process's thread pool, which looks up system names and reads files, still has free threads.
  await Promise.all([lookup('localhost'), lookup('localhost'), lookup('localhost'), lookup('localhost'), stat('.')])
  expect(server.names).toEqual(new Set([...Array.from({ length: 8 }, (_, n) => `dead${n}.example`), 'alive.example']))
  for (const guard of guards) guard.close()
  expect(new Set(await Promise.all(failures))).toEqual(
    new Set(['The connection to this connector was closed. Try again.']),
  )
})

test('internal and nonexistent host names give the same error', async () => {
  const server = await serve((name) => {
    if (name.startsWith('private')) return ['10.0.0.1']
    if (name.startsWith('own')) return ['127.0.0.1', 'fe80:0:0:0:0:0:0:1']
    return name.startsWith('refused') ? 'refused' : name.startsWith('silent') ? 'silent' : 'unknown'
  })
  const hosts = ['private.example', 'own.example', 'unknown.example', 'refused.example', 'silent.example', hostname()]
  const guard = openGuard({ lookups: lookupsAt(server), connectMs: 60_000 })
  const said = [...hosts, '10.0.0.1', '[::1]', 'localhost'].map((host) =>
    guard.fetch(`https://${host}/`, post()).catch((error: Error) => error.message),
  )
  expect(new Set(await Promise.all(said))).toEqual(
    new Set([
      'The URL of this connector has a host that is private or was not found. Use a public host, or ask the operator to allow this one.',
    ]),
  )
})

test('connects to an allowed private host by name', async () => {
  const names = await serve((name) => (name === 'mcp.internal' ? ['127.0.0.1'] : 'unknown'))
  const server = await startServer((response) => response.end('{}'))
  const guard = openGuard({ privateHosts: ['mcp.internal', 'localhost', 'gone.internal'], lookups: lookupsAt(names) })
  for (const host of ['mcp.internal', 'localhost']) {
    expect(await (await guard.fetch(`http://${host}:${server.port}/`, post())).text()).toBe('{}')
  }
  await expect(guard.fetch('http://gone.internal/', post())).rejects.toThrow(
    'The host gone.internal was not found. Check the URL.',
  )
})

test('connects to an http agent by name; timeout and abort end a slow lookup', async () => {
  const names = await serve((name) => (name === 'agent.internal' ? ['127.0.0.1'] : 'silent'))
  const server = await startServer(() => {})
  const of = (host: string) => ({
    peer: agentService,
    url: new URL(`http://${host}:${server.port}/`),
    isPrivateAllowed: true,
    connectMs: 50,
    lookups: lookupsAt(names),
  })
  const never = new AbortController().signal
  for (const host of ['agent.internal', 'localhost']) {
    const socket = await dial({ ...of(host), connectMs: 10_000, signal: never })
    expect(socket.remoteAddress).toBe('127.0.0.1')
    socket.destroy()
  }
  await expect(dial({ ...of('dead.internal'), signal: never })).rejects.toThrow('within 0.05 seconds')
  const controller = new AbortController()
  const dialling = dial({ ...of('left.internal'), connectMs: 60_000, signal: controller.signal })
  await expect.poll(() => names.names.has('left.internal')).toBe(true)
  const reason = new Error('left')
  controller.abort(reason)
  await expect(dialling).rejects.toBe(reason)
})
