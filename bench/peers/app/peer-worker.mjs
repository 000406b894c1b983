import { Worker } from 'bullmq'
import { Redis } from 'ioredis'

// A separate process, so that jobs cannot block the API.
// Usage: node peer-worker.mjs REDIS_SOCKET

const connection = new Redis(process.argv[2], { maxRetriesPerRequest: null })
const worker = new Worker('tasks', async () => ({}), { connection, concurrency: 50 })
worker.on('error', (error) => {
  throw error
})
await worker.waitUntilReady()
process.stdout.write(`${JSON.stringify({ url: 'worker' })}\n`)
