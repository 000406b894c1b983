import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { queryObjects } from 'node:v8'
import { expect, test } from 'vitest'
import { BodyRoom } from '../../../server/http/limits/body-room.ts'
import { readBodyText } from '../../../server/http/limits/read-body.ts'
import { ofTier } from '../../run/tiers.ts'
import { rawRequest, RawConnection } from '../../support/raw-http.ts'

const bytesMax = 1_000_000

// Uses one case in the small tier, because counting objects takes seconds in a worker with a large heap.
test.each(ofTier([1], [1, 3, 1000]))(
  'keeps a body in chunks of %i bytes without one object per chunk',
  async (size) => {
    const json = JSON.stringify({ text: 'abcdefghij'.repeat(20_000) })
    const pieces = json.match(new RegExp(`.{1,${size}}`, 'g'))!
    const arrived = Promise.withResolvers<void>()
    const read = Promise.withResolvers<string>()
    const server = createServer((request, response) => {
      readBodyText({ request, response, bytesMax, room: new BodyRoom(bytesMax), owner: null }).then(
        read.resolve,
        read.reject,
      )
      let left = json.length
      request.on('data', (chunk: Buffer) => {
        left -= chunk.length
        if (left === 0) arrived.resolve()
      })
      void read.promise.then(() => response.end('{}'))
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    {
      using connection = await RawConnection.open(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      const before = queryObjects(Uint8Array, { format: 'count' })
      await connection.send(rawRequest('POST /', ['Content-Type: application/json', 'Transfer-Encoding: chunked']))
      await connection.send(pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join(''))
      await arrived.promise
      expect(queryObjects(Uint8Array, { format: 'count' }) - before).toBeLessThan(100)
      await connection.send('0\r\n\r\n')
      expect(await read.promise).toBe(json)
    }
    await new Promise((resolve) => server.close(resolve))
  },
)
