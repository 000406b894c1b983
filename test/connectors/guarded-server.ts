import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import {
  createGuardedFetch,
  type GuardedFetch,
  type GuardedFetchOptions,
} from '../../server/connectors/thread/guarded-fetch.ts'
import { FairPlaces } from '../../server/kernel/fair-places.ts'
import { lookUpHost } from '../../server/outbound/host-lookup.ts'
import { lookupsPerUserMax } from '../../server/outbound/peer.ts'
import { openResources } from '../support/resources.ts'

type SeenRequest = { method: string; url: string; headers: IncomingHttpHeaders; body: string }
export type Answer = (response: ServerResponse, request: SeenRequest) => unknown

export type TestServer = {
  origin: string
  port: number
  requests: SeenRequest[]
  /** All connections so far; closed ones are destroyed. */
  connections: Socket[]
}

type ServerOptions = { host?: string; tls?: Certificate }

const stops: (() => unknown)[] = []

export async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0).toReversed()) await stop()
}

export function startServer(answer: Answer, options: ServerOptions = {}): Promise<TestServer> {
  const requests: SeenRequest[] = []
  const listener = async (incoming: IncomingMessage, response: ServerResponse) => {
    // A client that leaves early is not an error.
    const body = await text(incoming).catch(() => '')
    const { headers, method = '', url = '' } = incoming
    const request = { method, url, headers, body }
    requests.push(request)
    await answer(response, request)
  }
  const onRequest = (incoming: IncomingMessage, response: ServerResponse) => void listener(incoming, response)
  const server = options.tls ? createSecureServer(options.tls, onRequest) : createServer(onRequest)
  return listen(server, { ...options, requests })
}

/** Starts a server without its own HTTP: the test handles each connection. */
export function startTcpServer(onConnection: (socket: Socket) => void): Promise<TestServer> {
  return listen(createTcpServer(onConnection), { requests: [] })
}

type Listen = ServerOptions & { requests: SeenRequest[] }

async function listen(server: Server, { host = '127.0.0.1', requests, tls }: Listen): Promise<TestServer> {
  const connections: Socket[] = []
  server.on('connection', (socket: Socket) => {
    connections.push(socket)
    socket.on('error', () => {})
  })
  server.listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `${tls ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
  const name = `server on ${origin}`
  openResources.add(name)
  stops.push(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of connections) socket.destroy()
    await closed
    openResources.delete(name)
  })
  return { origin, port, requests, connections }
}

export const megabyte = 1024 * 1024

type GuardOptions = Partial<GuardedFetchOptions> & { lookup?: typeof lookUpHost }

/** Opens a guard that allows no private hosts by default, and closes it after the test. */
export function openGuard({ lookup = lookUpHost, ...options }: GuardOptions = {}): GuardedFetch {
  const lookups = { userId: 'user_1', places: new FairPlaces({ perUser: lookupsPerUserMax }), lookUp: lookup }
  const guard = createGuardedFetch({ privateHosts: [], bytesMax: megabyte, connectMs: 10_000, lookups, ...options })
  stops.push(() => guard.close())
  return guard
}

/** Opens a guard that allows these servers, each on its port only. */
export function openGuardFor(servers: TestServer[], options: GuardOptions = {}): GuardedFetch {
  return openGuard({ privateHosts: servers.map(({ origin }) => new URL(origin).host), ...options })
}

/** Returns a lookup that counts its calls and answers with these addresses. */
export function answering(...addresses: string[]): typeof lookUpHost & { names: string[] } {
  const names: string[] = []
  const lookup = async (name: string) => {
    names.push(name)
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return Object.assign(lookup, { names })
}

export const post = (body = '{}', headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body,
})

/** Resolves once the server sees the connection closed. */
export function gone(socket: Socket): Promise<unknown> {
  if (socket.destroyed) return Promise.resolve()
  return new Promise((resolve) => socket.once('close', resolve).resume())
}

export type Certificate = { key: string; cert: string }

/** Creates a self-signed certificate for that name. */
export function makeCertificate(name: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), 'errand-cert-'))
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const names = ['-subj', '/CN=connector', '-addext', `subjectAltName=${name}`]
  execFileSync('openssl', [...kind, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
  const made = { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') }
  rmSync(folder, { recursive: true })
  return made
}
