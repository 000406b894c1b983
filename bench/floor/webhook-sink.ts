import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// Receives webhook deliveries. GET returns their number and duration, and /reset restarts the count.

let count = 0
let firstAt = 0
let lastAt = 0

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.end(JSON.stringify({ count, ms: lastAt - firstAt }))
    if (request.url === '/reset') count = 0
    return
  }
  lastAt = performance.now()
  if (count++ === 0) firstAt = lastAt
  request.resume()
  request.on('end', () => response.writeHead(204).end())
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })}\n`)
})
