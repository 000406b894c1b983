import { createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { writeLines } from '../../../server/http/write-lines.ts'

test('sends comments while a stream is silent', { timeout: 20_000 }, async () => {
  const idle = { afterMs: 50, text: ':\n\n' }
  const commented = Promise.withResolvers<void>()
  const lines = ['first\n', 'second\n']
  // Sends the second line only after the client has seen that the connection is alive.
  const next = async () => {
    if (lines.length === 1) await commented.promise
    return lines.shift()
  }
  const server = createServer((_, response) => void writeLines(response, { headers: [], next, stallMs: 10_000, idle }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    const request = get({ port: (server.address() as AddressInfo).port })
    const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream]
    let received = ''
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      received += chunk
      if (chunk.includes(idle.text)) commented.resolve()
    })
    await once(response, 'end')
    expect(received).toMatch(/^first\n(:\n\n)+second\n$/)
  } finally {
    server.close()
  }
})
