import { createServer } from 'node:http'
import { Logger, run } from 'graphile-worker'
import { PgBoss } from 'pg-boss'

// A process that adds no-op jobs to a queue in PostgreSQL and runs them. It has no API, authentication or billing.
// GET /?count=N adds N jobs and responds when all of them are stored. Each library fetches and completes jobs in
// batches.
// Usage: node peer-queue.mjs pg-boss|graphile-worker DATABASE_URL

const [, , kind, connectionString] = process.argv
const concurrency = 32

const open = {
  'pg-boss': async () => {
    const boss = new PgBoss({ connectionString, useListenNotify: true })
    boss.on('error', (error) => {
      throw error
    })
    await boss.start()
    await boss.createQueue('noop', { notify: true })
    const options = { batchSize: 50, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 }
    await boss.work('noop', options, async () => {})
    return () => boss.send('noop', { n: 1 })
  },
  'graphile-worker': async () => {
    const preset = { worker: { localQueue: { size: 100 }, completeJobBatchDelay: 0 } }
    const logger = new Logger(() => () => {})
    const taskList = { noop: async () => {} }
    const runner = await run({ connectionString, concurrency: 10, logger, preset, taskList })
    return () => runner.addJob('noop', { n: 1 })
  },
}
const add = await open[kind]()

async function addJobs(count) {
  let left = count
  const inTurn = async () => {
    while (left-- > 0) await add()
  }
  await Promise.all(Array.from({ length: concurrency }, inTurn))
}

const server = createServer((request, response) => {
  const count = Number(new URL(request.url, 'http://queue').searchParams.get('count'))
  void addJobs(count).then(() => response.end('{}'))
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`)
})
