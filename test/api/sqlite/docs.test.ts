import { readFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { defineConfig } from '../../../server/agents/config/define-config.ts'
import { documentFile } from '../../../server/http/files/docs-pages.ts'
import { RawConnection } from '../../support/raw-http.ts'
import { startService, type TestService } from '../../support/test-service.ts'

test('/openapi.json matches the committed document byte for byte', async () => {
  const service = await startService()
  const response = await fetch(`${service.url}/openapi.json`)
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(Buffer.from(await response.arrayBuffer()).equals(readFileSync(documentFile))).toBe(true)
  await service.stop()
})

/** Returns the URLs that a browser loads for this page. */
function addressesOf(page: string): string[] {
  return [...page.matchAll(/(?:src|href|action|url)\s*[=:(]\s*["']?([^"'\s)]+)/g)].map(([, address]) => address!)
}

test('/docs loads its scripts, styles and icon from this service', async () => {
  const service = await startService()
  const { body, headers, status } = await service.get('/docs')
  expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  expect(body).toMatch(/^<!doctype html>/)
  expect((await service.get('/docs/')).body).toBe(body)
  // The page also links back to the console.
  const addresses = addressesOf(body).filter((address) => address !== '/')
  expect(addresses).toEqual([
    '/docs/swagger-ui.css',
    '/docs/errand.css',
    '/docs/favicon-32x32.png',
    '/docs/swagger-ui-bundle.js',
    '/docs/start.js',
  ])
  const types = []
  for (const address of addresses) {
    const asset = await service.get(address)
    expect([asset.status, asset.body.length > 50]).toEqual([200, true])
    types.push(asset.headers.get('content-type'))
  }
  expect(types).toEqual([
    'text/css; charset=utf-8',
    'text/css; charset=utf-8',
    'image/png',
    'text/javascript; charset=utf-8',
    'text/javascript; charset=utf-8',
  ])
  // The start script loads the document from this path.
  expect(addressesOf((await service.get('/docs/start.js')).body)).toContain('/openapi.json')
  await service.stop()
})

test('the page references no other host, and its content security policy allows only its own host', async () => {
  const service = await startService()
  for (const path of ['/docs', '/docs/start.js', '/docs/swagger-ui.css']) {
    const { body, headers } = await service.get(path)
    const foreign = addressesOf(body).filter((address) => /^(?:[a-z]+:)?\/\//i.test(address))
    expect(foreign, path).toEqual([])
    expect(body).not.toMatch(/@import/)
    const policy = Object.fromEntries(
      headers
        .get('content-security-policy')!
        .split('; ')
        .map((directive) => [directive.split(' ')[0], directive.split(' ').slice(1)]),
    )
    expect(policy).toEqual({
      'default-src': ["'none'"],
      'script-src': ["'self'"],
      'style-src': ["'self'", "'unsafe-inline'"],
      'img-src': ["'self'", 'data:'],
      'connect-src': ["'self'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ["'none'"],
    })
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('referrer-policy')).toBe('no-referrer')
  }
  await service.stop()
})

/** Sends a request without fetch, because fetch requests compression and decodes the response. */
async function ask(url: string, headers: Record<string, string> = {}): Promise<[IncomingMessage, Buffer]> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  request(url, { headers }, resolve).on('error', reject).end()
  const response = await promise
  return [response, await buffer(response)]
}

test('compresses files with an accepted encoding and returns 304 for cached files', async () => {
  const service = await startService()
  for (const path of ['/openapi.json', '/docs', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css']) {
    const url = service.url + path
    const [plain, whole] = await ask(url)
    const [brotli, small] = await ask(url, { 'Accept-Encoding': 'gzip, br' })
    const [gzip, smaller] = await ask(url, { 'Accept-Encoding': 'gzip' })
    expect([plain, brotli, gzip].map(({ headers }) => headers['content-encoding'])).toEqual([undefined, 'br', 'gzip'])
    expect(brotliDecompressSync(small).equals(whole) && gunzipSync(smaller).equals(whole)).toBe(true)
    expect(small.length).toBeLessThan(whole.length)
    expect(brotli.headers).toMatchObject({ vary: 'Accept-Encoding', 'cache-control': 'no-cache' })
    const again = { 'Accept-Encoding': 'br', 'If-None-Match': brotli.headers.etag! }
    const [known, nothing] = await ask(url, again)
    expect([known.statusCode, nothing.length]).toEqual([304, 0])
  }
  await service.stop()
})

test('does not copy a file in memory for each concurrent reader', async () => {
  const service = await startService()
  const path = '/docs/swagger-ui-bundle.js'
  const { length } = (await service.get(path)).body
  expect(length).toBeGreaterThan(1_000_000)
  const readers: RawConnection[] = []
  const before = process.memoryUsage().arrayBuffers
  let most = before
  const sampling = setInterval(() => (most = Math.max(most, process.memoryUsage().arrayBuffers)), 1)
  for (let reader = 0; reader < 200; reader++) readers.push(await RawConnection.open(service.url))
  await Promise.all(
    readers.map(async (reader) => {
      await reader.send(`GET ${path} HTTP/1.1\r\nHost: test\r\n\r\n`)
      await reader.begun()
      reader.pause()
    }),
  )
  clearInterval(sampling)
  expect(most - before).toBeLessThan(length * 60)
  for (const reader of readers) reader[Symbol.dispose]()
  await service.stop()
})

test('ships Swagger UI with its license and installs no telemetry package', () => {
  const root = new URL('../../../', import.meta.url)
  expect(readFileSync(new URL('openapi/swagger-ui/LICENSE', root), 'utf8')).toMatch(/Apache License\s+Version 2\.0/)
  expect(readFileSync(new URL('openapi/swagger-ui/NOTICE', root), 'utf8')).toMatch(/SmartBear/)
  const lock = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8')) as { packages: object }
  expect(Object.keys(lock.packages).filter((name) => /scarf/.test(name))).toEqual([])
})

test('serves only assets from the Swagger UI folder and nothing outside it', async () => {
  const service = await startService()
  const paths = [
    'package.json',
    'LICENSE',
    'README.md',
    'index.html',
    'swagger-ui.js',
    '../docs',
    '%2e%2e/package.json',
    'x/../package.json',
  ]
  for (const name of [...paths, '__proto__', 'constructor', 'swagger-ui.css/']) {
    const raw = await rawRequest(service, `GET /docs/${name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    expect(raw, name).toMatch(/^HTTP\/1\.1 404 /)
  }
  await service.stop()
})

test('returns 405 with Allow for other methods and 404 for other paths', async () => {
  const service = await startService()
  for (const path of ['/docs', '/openapi.json', '/healthz', '/readyz', '/']) {
    const { body, headers, status } = await service.post(path, {})
    expect(status, path).toBe(405)
    expect(headers.get('allow')).toBe('GET, HEAD, OPTIONS')
    expect(body).toEqual({
      error: 'Method not allowed',
      message: 'The method POST is not allowed for this path. Use a method from the Allow header.',
      statusCode: 405,
      code: 'METHOD_NOT_ALLOWED',
    })
  }
  const head = await service.request('HEAD', '/docs')
  expect([head.status, head.body]).toEqual([200, ''])
  for (const path of ['/healthz/', '/docsx', '/favicon.ico', '/api', '/trpc']) {
    const { body, status } = await service.get(path)
    expect([status, body], path).toEqual([
      404,
      { error: 'Not found', message: 'This path does not exist. Check the URL.', statusCode: 404, code: 'NOT_FOUND' },
    ])
  }
  await service.stop()
})

test('/healthz and /readyz return ok; a stopping service is alive but not ready', async () => {
  const gate = Promise.withResolvers<void>()
  const run = async () => {
    await gate.promise
    return {}
  }
  const endpoint = { description: 'Ends when the gate opens.', priceUsd: '0', params: {}, run }
  const config = defineConfig({ agents: [{ kind: 'code', id: 'gate', name: 'Gate', endpoints: { run: endpoint } }] })
  const service = await startService({ config })
  const { key } = await service.createPerson()
  for (const path of ['/healthz', '/readyz']) {
    const { body, headers, status } = await service.get(path)
    expect([status, body]).toEqual([200, { status: 'ok' }])
    expect(headers.get('cache-control')).toBe('no-store')
  }
  const { taskId } = (await service.createTask(key, 'gate.run')).body
  await expect.poll(async () => (await service.get(`/api/tasks/${taskId}`, key)).body.status).toBe('processing')

  const stopped = service.stop()
  expect((await service.get('/healthz')).status).toBe(200)
  const { body, headers, status } = await service.get('/readyz')
  expect([status, headers.get('retry-after')]).toEqual([503, '5'])
  expect(body).toEqual({
    error: 'Service unavailable',
    message: 'The service is stopping.',
    statusCode: 503,
    code: 'SERVICE_UNAVAILABLE',
  })
  gate.resolve()
  await stopped
})

test('every response has its own X-Request-Id, including errors and invalid requests', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const requests: [number, string, string, string | null][] = [
    [200, 'GET', '/api/account', key],
    [200, 'GET', '/healthz', null],
    [200, 'GET', '/docs', null],
    [200, 'GET', '/openapi.json', null],
    [200, 'GET', '/trpc/account.get', key],
    [204, 'OPTIONS', '/api/tasks', null],
    [200, 'GET', '/', null],
    [400, 'GET', '/api/tasks?limit=0', key],
    [401, 'GET', '/api/account', null],
    [401, 'GET', '/trpc/account.get', null],
    [403, 'GET', '/api/payloads/pay_0', null],
    [404, 'GET', '/nothing', null],
    [404, 'GET', '/trpc/nothing', key],
    [405, 'PATCH', '/api/tasks', key],
    [415, 'POST', '/api/tasks', key],
  ]
  const ids = new Set<string>()
  for (const [status, method, path, as] of requests) {
    const answer = await service.request(method, path, { key: as, headers: { 'X-Request-Id': 'mine' } })
    expect(answer.status, `${method} ${path}`).toBe(status)
    const id = answer.headers.get('x-request-id')
    expect(id, `${method} ${path}`).toMatch(/^req_[0-9a-z]{26}$/)
    ids.add(id!)
  }
  expect(ids.size).toBe(requests.length)
  const raw = [
    'this is no HTTP\r\n\r\n',
    `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`,
    'POST /api/tasks HTTP/1.1\r\nHost: x\r\nExpect: magic\r\nConnection: close\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n',
  ]
  for (const request of raw) {
    expect(await rawRequest(service, request)).toMatch(/\r\nX-Request-Id: req_[0-9a-z]{26}\r\n/i)
  }
  await service.stop()
})

/** Sends bytes that no client library would send, and resolves with everything received. */
async function rawRequest(service: TestService, bytes: string): Promise<string> {
  const { hostname, port } = new URL(service.url)
  const socket = connect(Number(port), hostname)
  socket.write(bytes)
  return await text(socket)
}
