import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { inProcessFetch } from '../../server/app/in-process-fetch.ts'

type Handle = (request: IncomingMessage, response: ServerResponse) => unknown

const url = 'http://127.0.0.1/api/tasks?a=b'
const send = (handle: Handle, init: RequestInit = {}) => inProcessFetch(handle)(url, init)

test('passes the request and returns the response', async () => {
  const answer = await send(
    async (request, response) => {
      const { headers, method, url: path } = request
      const body = Buffer.concat(await request.toArray()).toString()
      response.setHeader('Set-Cookie', ['a=1', 'b=2'])
      response.writeHead(201, ['X-One', '1']).end(JSON.stringify({ body, headers, method, path }))
    },
    { method: 'POST', body: 'é', headers: { 'Content-Type': 'text/plain' } },
  )
  expect(answer.status).toBe(201)
  expect([...answer.headers]).toEqual(
    expect.arrayContaining([
      ['set-cookie', 'a=1'],
      ['set-cookie', 'b=2'],
      ['x-one', '1'],
    ]),
  )
  const headers = { 'content-type': 'text/plain', 'content-length': '2', host: '127.0.0.1' }
  expect(await answer.json()).toEqual({ body: 'é', headers, method: 'POST', path: '/api/tasks?a=b' })
})

test('returns null as the body of a response that cannot have one', async () => {
  expect((await send((_, response) => response.writeHead(204).end())).body).toBeNull()
  expect((await send((_, response) => response.end('text'), { method: 'HEAD' })).body).toBeNull()
})

test('stops accepting a stream that is not read, and delivers all of it', async () => {
  const text = 'é'.repeat(50_000)
  let isPaused = false
  const answer = await send(async (_, response) => {
    response.flushHeaders()
    for (let n = 0; n < 5; n++) {
      if (response.write(text)) continue
      isPaused = true
      await new Promise((resolve) => response.once('drain', resolve))
    }
    response.end()
  })
  expect(isPaused).toBe(true)
  expect(await answer.text()).toBe(text.repeat(5))
})

test('an abort disconnects from the service and rejects with its reason, before and during the response', async () => {
  for (const begin of [() => {}, (response: ServerResponse) => response.write('a')]) {
    const controller = new AbortController()
    let isClosed = false
    const read = send(
      (_, response) => {
        response.once('close', () => (isClosed = !response.writableFinished))
        begin(response)
      },
      { signal: controller.signal },
    ).then((answer) => answer.text())
    void turn().then(() => controller.abort(new Error('Stopped')))
    await expect(read).rejects.toThrow('Stopped')
    await turn()
    expect(isClosed).toBe(true)
  }
  await expect(send(() => {}, { signal: AbortSignal.abort(new Error('Early')) })).rejects.toThrow('Early')
})

test('canceling the body disconnects from the service', async () => {
  const closed = Promise.withResolvers<void>()
  const answer = await send((_, response) => {
    response.once('close', closed.resolve)
    response.write('a')
  })
  await answer.body!.cancel()
  await closed.promise
})

test('rejects if the service closes the connection, before and during the response', async () => {
  await expect(send((_, response) => response.destroy())).rejects.toThrow('The connection was closed')
  const answer = await send((_, response) => {
    response.write('a')
    setImmediate(() => response.destroy())
  })
  await expect(answer.text()).rejects.toThrow('The connection was closed')
})
