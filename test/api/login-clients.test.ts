import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { ClientAddresses } from '../../server/auth/logins/client-address.ts'
import { logIn } from '../../server/auth/logins/log-in.ts'
import { resolveTrustedProxies } from '../../server/app/config.ts'
import { toErrandError } from '../../server/kernel/errors.ts'
import { RequestTrace } from '../../server/kernel/tracing/request-trace.ts'
import { countRows, withRaw } from '../support/test-engine.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'

/**
 * Returns the status of a login attempt from this address, which is simulated because a test cannot connect from it.
 */
async function statusFrom({ app, url }: TestService, { address, email }: { address: string; email: string }) {
  const request = { headers: { origin: url }, socket: { remoteAddress: address } } as unknown as IncomingMessage
  const input = { email, password: 'wrong horse battery' }
  const about = new RequestTrace('req_of_a_test', undefined)
  return await logIn(app.services.people, { browser: { request, setCookies: [], about }, input }).then(
    () => 200,
    (error: unknown) => toErrandError(error).status,
  )
}

test('a flood of attempts stores rows only for checked passwords and then recovers', async () => {
  const service = await startService({ clock: new FakeClock() })
  const address = '127.0.0.1'
  const tries = Array.from({ length: 300 }, (_, n) =>
    statusFrom(service, { address, email: `nobody-${n}@example.com` }),
  )
  const statuses = await Promise.all(tries)
  const lookedAt = statuses.filter((status) => status === 401).length
  expect(lookedAt).toBe(102)
  expect(statuses.filter((status) => status === 503)).toHaveLength(300 - lookedAt)
  expect(await withRaw(service.dataDir, countRows)).toMatchObject({ login_attempts: lookedAt })
  expect(await statusFrom(service, { address, email: 'nobody@example.com' })).toBe(401)
  await service.stop()
})

test('many attempts for one email delay a login for another only by the hashes in progress', async () => {
  const service = await startService({ clock: new FakeClock() })
  const { store } = service.app.services
  const { admitLogin } = store
  // The connections determine when each attempt is admitted. After that, the attempts wait for each other.
  let admitted = 0
  const all = Promise.withResolvers<void>()
  store.admitLogin = async (of) => {
    const result = await admitLogin(of)
    if (++admitted === 11) all.resolve()
    await all.promise
    return result
  }
  const ended: string[] = []
  const tried = async (email: string) => {
    await statusFrom(service, { address: '127.0.0.1', email })
    ended.push(email)
  }
  const many = Array.from({ length: 10 }, () => tried('many@example.com'))
  await Promise.all([...many, tried('one@example.com')])
  expect(ended).toHaveLength(11)
  expect(ended.indexOf('one@example.com')).toBeLessThan(6)
  await service.stop()
})

test('throttles clients by IPv4 address or IPv6 network', async () => {
  const service = await startService({ clock: new FakeClock() })
  const table: [string, number, string[]][] = [
    ['8.8.8.1', 429, ['8.8.8.1', '::ffff:8.8.8.1']],
    ['8.8.8.1', 401, ['8.8.8.2', '2a00::1', '127.0.0.1']],
    ['2a00::1', 429, ['2a00::2', '2a00:0:0:0:ffff::9', '2a00::1:2:3:4']],
    ['2a00:1:2:3:4:5:6:7', 429, ['2a00:1:2:3::', '2a00:1:2:3:ffff:ffff:ffff:ffff']],
    ['2a00:1:2:3:4:5:6:7', 401, ['2a00:1:2:4:4:5:6:7', '2a00:1::2:3', '2a00::1']],
    // A client on a private network or this machine may be a proxy; all of these count as one client.
    ['127.0.0.1', 429, ['::1', '::ffff:127.0.0.1', '10.0.0.9', '192.168.1.1', 'fe80::1%eth0', 'fd00::1']],
  ]
  for (const [index, [first, status, others]] of table.entries()) {
    const email = `user-${index}@example.com`
    const tries = await Promise.all(Array.from({ length: 11 }, () => statusFrom(service, { address: first, email })))
    expect(tries.toSorted(), first).toEqual([...Array(10).fill(401), 429])
    for (const address of others) {
      expect(await statusFrom(service, { address, email }), `${address} after ${first}`).toBe(status)
    }
  }
  await service.stop()
})

test('trusts only the part of X-Forwarded-For that configured proxies wrote', () => {
  const of = (trusted: string[], { from, forwarded }: { from: string; forwarded?: string | string[] }) =>
    new ClientAddresses(trusted).of({
      headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
      socket: { remoteAddress: from },
    } as unknown as IncomingMessage)
  const proxies = ['10.0.0.0/8', '127.0.0.1', 'fd00::/8']
  const local = { from: '127.0.0.1' }
  // Only configured proxies are trusted.
  expect(of([], { ...local, forwarded: '8.8.8.8' })).toBe(null)
  expect(of(proxies, { from: '8.8.4.4', forwarded: '8.8.8.8' })).toBe('8.8.4.4')
  expect(of(proxies, { from: '192.168.1.1', forwarded: '8.8.8.8' })).toBe(null)
  // A client controls only the beginning of the header.
  expect(of(proxies, { ...local, forwarded: '8.8.8.8' })).toBe('8.8.8.8')
  expect(of(proxies, { from: '::ffff:127.0.0.1', forwarded: '1.1.1.1, 8.8.8.8' })).toBe('8.8.8.8')
  expect(of(proxies, { from: 'fd00::1', forwarded: '1.1.1.1, 8.8.8.8, 10.1.2.3' })).toBe('8.8.8.8')
  expect(of(proxies, { ...local, forwarded: ['1.1.1.1', '8.8.8.8'] })).toBe('8.8.8.8')
  expect(of(proxies, { ...local, forwarded: '2a00:1:2:3:4:5:6:7' })).toBe('2a00:1:2:3')
  // The client is unknown if the header is useless.
  expect(of(proxies, local)).toBe(null)
  for (const forwarded of ['', ',', 'unknown', '10.0.0.1', '8.8.8.8:1234', '8.8.8.8, x', '<script>', '1e3']) {
    expect(of(proxies, { ...local, forwarded }), forwarded).toBe(null)
  }
})

test('rejects an invalid trusted proxy at startup and names it', () => {
  const read = (text: string) => resolveTrustedProxies({ ERRAND_TRUSTED_PROXIES: text })
  expect(read('')).toEqual([])
  expect(read(' 127.0.0.1, 10.0.0.0/8 ,fd00::/8,')).toEqual(['127.0.0.1', '10.0.0.0/8', 'fd00::/8'])
  for (const text of ['proxy', '10.0.0.0/33', '10.0.0.0/x', '10.0.0.0/8/8', 'fd00::/129', '10.0.0.1/-1', '10.0.0.1/']) {
    expect(() => read(text), text).toThrow(
      `ERRAND_TRUSTED_PROXIES: "${text}" must be an IP address or a network such as 10.0.0.0/8`,
    )
  }
})
