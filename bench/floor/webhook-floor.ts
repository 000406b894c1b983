import { createHmac } from 'node:crypto'
import { request, Agent } from 'node:http'

// Baseline for webhook deliveries: sends signed POST requests to one URL over keep-alive connections, as many at a time
// as the service's dispatcher. It has no leases, storage or checks.

const [url = '', count = '0', inFlight = '64', bytes = '300'] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })
const body = 'x'.repeat(Number(bytes))
const key = Buffer.alloc(32, 7)
let left = Number(count)

async function send(): Promise<void> {
  while (left-- > 0) {
    const id = `evt_${left}`
    const at = String(Math.floor(Date.now() / 1000))
    const signature = `v1,${createHmac('sha256', key).update(`${id}.${at}.${body}`).digest('base64')}`
    const headers = { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature }
    await new Promise<void>((resolve, reject) => {
      const sent = request(url, { agent, method: 'POST', headers: { ...headers, 'content-length': body.length } })
      sent.on('response', (answer) => answer.resume().on('end', resolve))
      sent.on('error', reject)
      sent.end(body)
    })
  }
}

await Promise.all(Array.from({ length: Number(inFlight) }, send))
agent.destroy()
