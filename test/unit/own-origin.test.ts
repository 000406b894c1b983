import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { OwnOrigins } from '../../server/auth/logins/own-origin.ts'
import { ErrandError } from '../../server/kernel/errors.ts'

type Headers = Record<string, string>

const requestWith = (headers: Headers) => ({ headers }) as unknown as IncomingMessage

function passes(baseUrl: string, headers: Headers): boolean {
  try {
    new OwnOrigins(() => baseUrl).assert(requestWith(headers))
    return true
  } catch (error) {
    if (error instanceof ErrandError && error.status === 403) return false
    throw error
  }
}

const own = 'https://errand.example.com'
const site = (value: string) => ({ 'sec-fetch-site': value })

test('accepts only its own Origin, Sec-Fetch-Site same-origin, or both', () => {
  const table: [boolean, Headers][] = [
    [true, { origin: own }],
    [true, site('same-origin')],
    [true, { origin: own, ...site('same-origin') }],
    [false, {}],
    ...['cross-site', 'same-site', 'none', '', 'Same-Origin', 'same-origin, same-origin'].flatMap(
      (value): [boolean, Headers][] => [
        [false, site(value)],
        [false, { origin: own, ...site(value) }],
      ],
    ),
    ...[
      'null',
      '',
      'https://evil.example.com',
      'http://errand.example.com',
      'https://errand.example.com:8443',
      'https://errand.example.com.evil.example',
      'https://evil.example/https://errand.example.com',
      `${own}/`,
      `${own}, ${own}`,
      'https://ERRAND.example.com',
      'https://errand.example.com@evil.example',
    ].flatMap((origin): [boolean, Headers][] => [
      [false, { origin }],
      [false, { origin, ...site('same-origin') }],
    ]),
  ]
  for (const [expected, headers] of table) expect(passes(own, headers), JSON.stringify(headers)).toBe(expected)
})

test('does not trust the Host header as its own origin', () => {
  const headers = { host: 'evil.example', origin: 'https://evil.example' }
  expect(passes(own, headers)).toBe(false)
  expect(passes('http://127.0.0.1:3000', { ...headers, origin: 'http://evil.example' })).toBe(false)
})

test('a loopback base URL accepts all three loopback names with its port and protocol', () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    const baseUrl = `http://${host}:3000`
    for (const other of ['localhost', '127.0.0.1', '[::1]']) {
      expect(passes(baseUrl, { origin: `http://${other}:3000` })).toBe(true)
      expect(passes(baseUrl, { origin: `http://${other}:3001` })).toBe(false)
      expect(passes(baseUrl, { origin: `http://${other}` })).toBe(false)
      expect(passes(baseUrl, { origin: `https://${other}:3000` })).toBe(false)
    }
    for (const other of ['127.0.0.2', 'localhost.evil.example', 'evil-localhost', '[::2]', '0.0.0.0']) {
      expect(passes(baseUrl, { origin: `http://${other}:3000` }), other).toBe(false)
    }
  }
})

test('the default port in the base URL is optional', () => {
  expect(passes('http://localhost:80', { origin: 'http://127.0.0.1' })).toBe(true)
  expect(passes('http://localhost', { origin: 'http://127.0.0.1:80' })).toBe(false)
  expect(passes('https://errand.example.com:443/errand/', { origin: own })).toBe(true)
})

test('any other base URL accepts only its own origin', () => {
  for (const origin of ['http://localhost', 'https://localhost', 'https://127.0.0.1', 'http://127.0.0.1:3000']) {
    expect(passes(own, { origin }), origin).toBe(false)
  }
})

test('allows browser logins over https, or over http on loopback only', () => {
  const table: [boolean, string][] = [
    [true, own],
    [true, 'https://127.0.0.1:3000'],
    [true, 'http://localhost:3000'],
    [true, 'http://127.0.0.1:3000'],
    [true, 'http://127.8.9.10:3000'],
    [true, 'http://[::1]:3000'],
    [false, 'http://errand.example.com'],
    [false, 'http://192.168.1.2:3000'],
    [false, 'http://0.0.0.0:3000'],
    [false, 'http://[::]:3000'],
    [false, 'http://127.0.0.1.evil.example:3000'],
    [false, 'http://localhost.evil.example'],
  ]
  for (const [expected, baseUrl] of table) expect(new OwnOrigins(() => baseUrl).mayLogIn, baseUrl).toBe(expected)
})

test('the base URL keeps the loopback name that the browser used', () => {
  const origins = new OwnOrigins(() => 'http://127.0.0.1:3000/errand')
  const table: [string, string][] = [
    ['localhost:3000', 'http://localhost:3000/errand'],
    ['[::1]:3000', 'http://[::1]:3000/errand'],
    ['127.0.0.1:3000', 'http://127.0.0.1:3000/errand'],
    ['localhost:3001', 'http://127.0.0.1:3000/errand'],
    ['evil.example', 'http://127.0.0.1:3000/errand'],
  ]
  for (const [host, url] of table) expect(origins.baseUrlFor(requestWith({ host })), host).toBe(url)
  expect(origins.baseUrlFor(requestWith({}))).toBe('http://127.0.0.1:3000/errand')
})

test('follows a base URL that changes when the service starts listening', () => {
  let baseUrl = 'http://127.0.0.1:3000'
  const origins = new OwnOrigins(() => baseUrl)
  expect(origins.isSecure).toBe(false)
  baseUrl = own
  expect(origins.isSecure).toBe(true)
  expect(() => origins.assert(requestWith({ origin: 'http://127.0.0.1:3000' }))).toThrow(ErrandError)
})
