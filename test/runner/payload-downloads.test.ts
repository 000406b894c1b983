import { expect, test } from 'vitest'
import { FakeClock } from '../support/fake-clock.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { unlimited } from './task-checks.ts'

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))

/** Returns params whose JSON has exactly this many bytes, with characters of one to four bytes. */
function paramsOf(bytes: number): { text: string } {
  const unit = 'aé€😀'
  const text = unit.repeat(Math.floor((bytes - 11) / Buffer.byteLength(unit)))
  const params = { text: text + 'b'.repeat(bytes - 11 - Buffer.byteLength(text)) }
  if (bytesOf(params) !== bytes) throw new Error(`${bytesOf(params)} bytes instead of ${bytes}`)
  return params
}

/** Follows a link after checking its prefix. */
function download(service: TestService, link: string, method = 'GET', headers: Record<string, string> = {}) {
  expect(link.startsWith(`${service.url}/api/payloads/pay_`)).toBe(true)
  return service.request(method, link.slice(service.url.length), { headers })
}

test('payloads up to 16,384 bytes are inline; larger ones get a preview and a link', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  const fits = await service.runTask(key, 'test.echo', paramsOf(16_384))
  expect(fits).toMatchObject({ status: 'completed', request: paramsOf(16_384), response: paramsOf(16_384) })
  expect(fits).not.toHaveProperty('requestUri')
  expect(fits).not.toHaveProperty('responseUri')

  const params = paramsOf(16_385)
  const json = JSON.stringify(params)
  const stored = await service.runTask(key, 'test.echo', params)
  expect(stored.status).toBe('completed')
  for (const field of ['request', 'response']) {
    const preview: string = stored[field]
    expect([...preview]).toHaveLength(1024)
    expect(json.startsWith(preview)).toBe(true)
    const whole = await download(service, stored[`${field}Uri`])
    expect(whole.status).toBe(200)
    expect(JSON.stringify(whole.body)).toBe(json)
  }
  expect(stored.requestUri).not.toBe(stored.responseUri)
  // Agents get the complete value, regardless of how it is stored.
  const value = { value: 'x'.repeat(20_000) }
  const { responseUri } = await service.runTask(key, 'test.value', value)
  expect((await download(service, responseUri)).body).toBe(value.value)
  await service.stop()
})

test('a preview never ends in the middle of a character', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  // The 1,024th character starts at each offset of a surrogate pair.
  for (let before = 0; before < 3; before++) {
    const value = 'b'.repeat(before) + '😀'.repeat(6000)
    const { request, response } = await service.runTask(key, 'test.value', { value })
    expect(response).toBe([...value].slice(0, 1024).join(''))
    expect(request).toBe([...JSON.stringify({ value })].slice(0, 1024).join(''))
    expect(`${request}${response}`.isWellFormed()).toBe(true)
  }
  // Characters with JSON escapes count as one in a text preview.
  const { response } = await service.runTask(key, 'test.value', { value: '\u0001"\\'.repeat(3000) })
  expect(response).toBe('\u0001"\\'.repeat(3000).slice(0, 1024))
  await service.stop()
})

test('a download is an attachment with nosniff and an ETag, and supports HEAD and 304', async () => {
  const service = await startService({ limits: unlimited })
  const { key } = await service.createPerson()
  const { requestUri } = await service.runTask(key, 'test.echo', paramsOf(20_000))
  const whole = await download(service, requestUri)
  const headers = Object.fromEntries(whole.headers)
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'content-length': '20000',
    'x-content-type-options': 'nosniff',
    'content-disposition': expect.stringMatching(/^attachment; filename="pay_\w+\.json"$/),
    etag: expect.stringMatching(/^"\S+"$/),
  })
  const head = await download(service, requestUri, 'HEAD')
  expect([head.status, head.body]).toEqual([200, ''])
  expect(Object.fromEntries(head.headers)).toMatchObject({
    'content-length': '20000',
    etag: headers['etag'],
    'content-type': headers['content-type'],
  })
  const known = await download(service, requestUri, 'GET', { 'If-None-Match': headers['etag']! })
  expect([known.status, known.body, known.headers.get('etag')]).toEqual([304, '', headers['etag']])
  const other = await download(service, requestUri, 'GET', { 'If-None-Match': '"other"' })
  expect(other.status).toBe(200)
  const posted = await download(service, requestUri, 'POST')
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  await service.stop()
})

test('an expired or altered link gives 403; reading the task again gives a valid link', async () => {
  const clock = new FakeClock()
  const service = await startService({ limits: unlimited, clock })
  const { key } = await service.createPerson()
  const task = await service.runTask(key, 'test.echo', paramsOf(20_000))
  clock.advance(3_599_000)
  expect((await download(service, task.requestUri)).status).toBe(200)
  const link = new URL(task.requestUri)
  const change = (name: string, value: string) => {
    const changed = new URL(link)
    changed.searchParams.set(name, value)
    return changed.href
  }
  const signature = link.searchParams.get('signature')!
  const expires = link.searchParams.get('expires')!
  const wrong = [
    change('expires', String(Number(expires) + 1)),
    change('signature', `${signature.slice(0, -2)}${signature.at(-2) === 'A' ? 'B' : 'A'}${signature.at(-1)}`),
    change('signature', ''),
    change('expires', ''),
    `${task.requestUri}&expires=${expires}`,
    task.requestUri.split('?')[0],
    // A payload's signature is invalid for any other.
    task.requestUri.replace(/pay_\w+/, /pay_\w+/.exec(task.responseUri)![0]),
  ]
  for (const each of wrong) {
    const refused = await download(service, each)
    expect(refused.status, each).toBe(403)
    expect(refused.body, each).toMatchObject({ error: 'Forbidden', statusCode: 403, code: 'FORBIDDEN' })
  }
  clock.advance(1000)
  for (const method of ['GET', 'HEAD']) expect((await download(service, task.requestUri, method)).status).toBe(403)
  const { body: again } = await service.get(`/api/tasks/${task.id}`, key)
  expect((await download(service, again.requestUri)).status).toBe(200)
  await service.stop()
})
