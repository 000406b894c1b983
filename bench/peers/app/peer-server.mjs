import { readFileSync } from 'node:fs'
import { Queue } from 'bullmq'
import fastify from 'fastify'
import { Redis } from 'ioredis'

// The API that a team would build with Fastify, BullMQ and Redis. It does less than Errand wherever that makes it
// faster: API keys are plain strings in memory, there is no ledger, and failed jobs are not refunded. A crash between
// the charge and the job loses the charge.
// Usage: node peer-server.mjs REDIS_SOCKET USERS_FILE

const [, , socketPath, usersFile] = process.argv
const users = JSON.parse(readFileSync(usersFile, 'utf8'))
const userIds = new Map(users.map(({ key, userId }) => [`Bearer ${key}`, userId]))
const price = 100

// Rejected alternative: ioredis's autopipelining took a quarter more CPU time per task and did not read statuses
// faster.
const redis = new Redis(socketPath)
// One script checks the rate limit and the balance and charges the price, atomically and in a single round trip.
redis.defineCommand('admit', {
  numberOfKeys: 2,
  lua: `
    local count = redis.call('INCR', KEYS[1])
    if count == 1 then redis.call('EXPIRE', KEYS[1], 60) end
    if count > 10 then return 429 end
    if tonumber(redis.call('GET', KEYS[2]) or '0') < tonumber(ARGV[1]) then return 403 end
    redis.call('DECRBY', KEYS[2], ARGV[1])
    return 200`,
})
await redis.mset(users.flatMap(({ userId }) => [`balance:${userId}`, 10_000_000]))
const queue = new Queue('tasks', { connection: redis })

const app = fastify()
app.decorateRequest('userId', '')
app.addHook('onRequest', async (request, reply) => {
  const userId = userIds.get(request.headers.authorization)
  if (userId === undefined) return await reply.code(401).send({ error: 'Invalid API key' })
  request.userId = userId
})

const text = { type: 'string' }
const created = { type: 'object', properties: { taskId: text, status: text, message: text } }
const submission = {
  type: 'object',
  required: ['endpointId', 'params'],
  properties: { endpointId: { const: 'bench.noop' }, params: { type: 'object' } },
}
app.post('/api/tasks', { schema: { body: submission, response: { 200: created } } }, async (request, reply) => {
  const { body, userId } = request
  const status = await redis.admit(`rate:${userId}`, `balance:${userId}`, price)
  if (status !== 200) return await reply.code(status).send({ error: status === 429 ? 'Rate limit' : 'Balance' })
  const job = await queue.add(body.endpointId, { userId, params: body.params })
  return { taskId: job.id, status: 'pending', message: 'Task created' }
})

const any = { type: 'object', additionalProperties: true }
const times = { createdAt: text, startedAt: text, completedAt: text }
const task = {
  type: 'object',
  properties: { id: text, userId: text, endpointId: text, status: text, request: any, response: any, ...times },
}
app.get('/api/tasks/:taskId', { schema: { response: { 200: task } } }, async (request, reply) => {
  const { taskId } = request.params
  // Both commands are sent in the same event-loop tick and share a round trip.
  const [job, status] = await Promise.all([queue.getJob(taskId), queue.getJobState(taskId)])
  if (job?.data.userId !== request.userId) return await reply.code(404).send({ error: 'Not found' })
  const { data, finishedOn, name, processedOn, returnvalue, timestamp } = job
  const times = { createdAt: iso(timestamp), startedAt: iso(processedOn), completedAt: iso(finishedOn) }
  const { params, userId } = data
  return { id: taskId, userId, endpointId: name, status, request: params, response: returnvalue ?? undefined, ...times }
})

function iso(time) {
  return time === undefined ? undefined : new Date(time).toISOString()
}

await queue.waitUntilReady()
const url = await app.listen({ host: '127.0.0.1', port: 0 })
process.stdout.write(`${JSON.stringify({ url })}\n`)
