import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { Brand } from '../../../server/http/files/brand.ts'
import { startService, type TestService } from '../../support/test-service.ts'

const script = 'export const text = "a script of the console"\n'.repeat(20)
const page =
  '<!doctype html><meta name="csp-nonce" content="__CSP_NONCE__"><title>__SERVICE_NAME__</title><link href="./favicon.svg"><meta content="__BRAND__">'

/** Starts a service with a minimal built console. */
async function startWithConsole(
  brand?: Brand,
): Promise<{ service: TestService; folder: string; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'errand-console-'))
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), page)
  writeFileSync(join(folder, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
  writeFileSync(join(folder, 'secret.txt'), 'not an asset')
  writeFileSync(join(folder, 'assets/main-abc.js'), script)
  writeFileSync(join(folder, 'assets/main-abc.js.br'), brotliCompressSync(script))
  writeFileSync(join(folder, 'assets/main-abc.js.gz'), gzipSync(script))
  const service = await startService({ consoleFolder: folder, ...(brand && { brand }) })
  const stop = async () => {
    await service.stop()
    rmSync(folder, { recursive: true })
  }
  return { service, folder, stop }
}

type RawAnswer = { status: number; headers: Record<string, unknown>; body: Buffer }

/** Sends a request without fetch, because fetch requests compression and decodes the response. */
async function ask(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
  request(url, { headers, method }, (response) => {
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    response.on('end', () =>
      resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
    )
  })
    .on('error', reject)
    .end()
  return await promise
}

test('each page has its own nonce and a content security policy that names it', async () => {
  const { service, stop } = await startWithConsole()
  const first = await ask(`${service.url}/tasks/some-id`)
  const second = await ask(`${service.url}/`)
  const nonces = [first, second].map(({ body }) => /content="([^"]{20,})"/.exec(body.toString())?.[1])
  expect(new Set(nonces).size).toBe(2)
  expect(first.status).toBe(200)
  expect(first.headers).toMatchObject({
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    'x-request-id': expect.stringMatching(/^req_/),
  })
  expect(first.headers['content-security-policy']).toBe(
    `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonces[0]}'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  )
  const head = await ask(`${service.url}/login`, {}, 'HEAD')
  expect([head.status, head.body.length, Number(head.headers['content-length']) > 50]).toEqual([200, 0, true])
  await stop()
})

test('the page has the name and logo of the operator, and serves the logo with a policy of its own', async () => {
  const logo = { type: 'image/svg+xml', content: Buffer.from('<svg/>') }
  const { service, stop } = await startWithConsole({ name: 'Acme & $& <Co>', seller: ['Acme "GmbH"'], logo })
  const text = (await ask(`${service.url}/login`)).body.toString()
  expect(text).toContain('<title>Acme &amp; $&amp; &lt;Co></title><link href="/logo">')
  const attribute = /<meta content="([^"]*)">/.exec(text)![1]!
  const json = attribute.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&')
  expect(JSON.parse(json)).toEqual({ name: 'Acme & $& <Co>', seller: ['Acme "GmbH"'], logo: '/logo' })
  const served = await ask(`${service.url}/logo`)
  expect(served.headers).toMatchObject({
    'content-type': 'image/svg+xml',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
    'x-content-type-options': 'nosniff',
  })
  expect([served.body.toString(), (await ask(`${service.url}/logo-dark`)).status]).toEqual(['<svg/>', 404])
  expect((await ask(`${service.url}/docs`)).body.toString()).toContain('<title>Acme &amp; $&amp; &lt;Co> API reference')
  await stop()
})

test('without a brand, the page has the name and icon of Errand', async () => {
  const { service, stop } = await startWithConsole()
  const text = (await ask(`${service.url}/login`)).body.toString()
  expect(text).toContain('<title>Errand</title><link href="/favicon.svg">')
  expect((await ask(`${service.url}/logo`)).status).toBe(404)
  await stop()
})

test('sends assets in the best accepted encoding, with immutable caching', async () => {
  const { service, stop } = await startWithConsole()
  const url = `${service.url}/assets/main-abc.js`
  const asked = async (accepted: string) => await ask(url, { 'Accept-Encoding': accepted })
  const brotli = await asked('gzip, deflate, br')
  expect(brotli.headers).toMatchObject({
    'content-encoding': 'br',
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    vary: 'Accept-Encoding',
  })
  expect(brotliDecompressSync(brotli.body).toString()).toBe(script)
  const gzipped = await asked('br;q=0, gzip')
  expect(gzipped.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(gzipped.body).toString()).toBe(script)
  for (const plain of [await ask(url), await asked('br;q=0, *;q=0'), await asked('identity')]) {
    expect(plain.headers).not.toHaveProperty('content-encoding')
    expect(plain.body.toString()).toBe(script)
  }
  expect((await asked('*')).headers['content-encoding']).toBe('br')
  expect((await asked('br;q=0.1, gzip;q=0.9')).headers['content-encoding']).toBe('gzip')
  await stop()
})

test('returns 304 for a cached asset, with a separate ETag per encoding', async () => {
  const { service, stop } = await startWithConsole()
  const url = `${service.url}/assets/main-abc.js`
  const plain = await ask(url)
  const etag = String(plain.headers['etag'])
  const again = await ask(url, { 'If-None-Match': `"other", W/${etag}` })
  expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag])
  const other = await ask(url, { 'If-None-Match': etag, 'Accept-Encoding': 'br' })
  expect([other.status, other.headers['etag'] === etag]).toEqual([200, false])
  await stop()
})

test('serves nothing except pages and assets, regardless of the path', async () => {
  const { service, stop } = await startWithConsole()
  const paths = ['/index.html', '/secret.txt', '/assets/', '/assets/none.js', '/assets/main-abc.js.br', '/tasks/a/b']
  for (const path of [...paths, '/assets/..%2fsecret.txt', '/assets/%2e%2e/secret.txt', '/assets/../secret.txt']) {
    const answer = await ask(service.url + path)
    expect(answer.status, path).toBe(404)
    expect(JSON.parse(answer.body.toString()), path).toMatchObject({
      error: 'Not found',
      statusCode: 404,
      code: 'NOT_FOUND',
    })
  }
  await stop()
})

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

test('an unknown path returns 404 with the page to browsers and JSON to programs', async () => {
  const { service, stop } = await startWithConsole()
  for (const path of ['/nowhere', '/settings/xyz', '/tasks/a/b', '/docs/none', '/index.html', '//evil.example/x']) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await ask(service.url + path, { Accept: browser }, method)
      expect([answer.status, answer.headers['content-type']], path).toEqual([404, 'text/html; charset=utf-8'])
      expect(answer.headers['content-security-policy'], path).toContain("default-src 'none'")
      expect(answer.body.toString().startsWith('<!doctype html>'), path).toBe(method === 'GET')
    }
    for (const accept of ['application/json', '*/*', 'text/html;q=0, */*', 'text/html; q=0.00', 'text/htmlx', '']) {
      const answer = await ask(service.url + path, { Accept: accept })
      expect(answer.status, path).toBe(404)
      expect(JSON.parse(answer.body.toString()), path).toMatchObject({ statusCode: 404 })
    }
    expect((await ask(service.url + path, { Accept: browser }, 'POST')).headers['content-type'], path).toContain('json')
  }
  // The API and the console's assets never fall back to the page.
  for (const path of ['/api/nowhere', '/api/tasks/', '/trpc/nowhere', '/assets/none.js']) {
    const answer = await ask(service.url + path, { Accept: browser })
    expect(JSON.parse(answer.body.toString()), path).toBeInstanceOf(Object)
  }
  await stop()
})

test('redirects a page with a trailing slash to the page and nowhere else', async () => {
  const { service, stop } = await startWithConsole()
  for (const [path, location] of [
    ['/tasks/', '/tasks'],
    ['/tasks///', '/tasks'],
    ['/chat/ses_1/?view=details', '/chat/ses_1?view=details'],
    ['/settings/keys/', '/settings/keys'],
    ['/login/', '/login'],
  ] as const) {
    const answer = await ask(service.url + path, { Accept: browser })
    expect([answer.status, answer.headers['location']], path).toEqual([308, location])
  }
  for (const path of ['//evil.example/', '/\\evil.example/', '/nowhere/', '//']) {
    const answer = await ask(service.url + path, { Accept: browser })
    expect([answer.status, answer.headers['location']], path).toEqual([404, undefined])
  }
  await stop()
})

test('pages and assets allow only GET, HEAD and OPTIONS', async () => {
  const { service, stop } = await startWithConsole()
  for (const path of ['/tasks', '/assets/main-abc.js', '/favicon.svg']) {
    const answer = await ask(service.url + path, {}, 'POST')
    expect([answer.status, answer.headers['allow']], path).toEqual([405, 'GET, HEAD, OPTIONS'])
    expect((await ask(service.url + path, {}, 'OPTIONS')).headers['allow'], path).toBe('GET, HEAD, OPTIONS')
  }
  await stop()
})

test('without a built console, pages explain how to build it and work once built', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'errand-console-'))
  const service = await startService({ consoleFolder: folder })
  const missing = await ask(`${service.url}/`)
  expect(missing.status).toBe(503)
  expect(missing.body.toString()).toContain('npm start')
  mkdirSync(join(folder, 'assets'))
  writeFileSync(join(folder, 'index.html'), page)
  expect((await ask(`${service.url}/`)).status).toBe(200)
  await service.stop()
  rmSync(folder, { recursive: true })
})

test('retries reading the console after a failed read', async () => {
  const { folder, service, stop } = await startWithConsole()
  const assets = join(folder, 'assets')
  // This happens while a new build replaces the old one.
  renameSync(assets, `${assets}.away`)
  expect((await ask(`${service.url}/`)).status).toBe(500)
  renameSync(`${assets}.away`, assets)
  expect((await ask(`${service.url}/`)).status).toBe(200)
  expect((await ask(`${service.url}/assets/main-abc.js`)).body.toString()).toBe(script)
  await stop()
})
