import { writeFileSync } from 'node:fs'
import { createTRPCClient, httpBatchStreamLink, httpLink } from '@trpc/client'
import superjson from 'superjson'
import { expect, test } from 'vitest'
import { createClient, type TaskEvent } from '../../client/client.ts'
import type { AppRouter } from '../../server/edge/root-router.ts'
import type { TaskEvent as ServerTaskEvent } from '../../server/tasks/task-schema.ts'
import { waitersMax } from '../../server/tasks/task-ends.ts'
import config from '../runner/progress-agents.ts'
import { signalFiles, soon, unlimited, untilBegun } from '../runner/task-checks.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startService, type TestService } from '../support/test-service.ts'

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const done = { fraction: 1, message: 'Done', at: timestamp }
const second = { fraction: 0.2, message: 'Step 2', data: { step: 2 }, at: timestamp }

async function startWorld(limits: object = {}) {
  const service = await startService({ config, limits: { ...unlimited, ...limits } })
  const { key, userId } = await service.createPerson()
  const follow = (taskId: string, headers: Record<string, string> = {}) =>
    ChatReader.open({ url: service.url, key, path: `/api/tasks/${taskId}/events`, headers })
  return { service, key, userId, follow }
}

/** Starts a task, which reports two steps and then waits for its file. */
async function startSteps(service: TestService, key: string, params: object = {}) {
  const files = signalFiles(service.dataDir)
  const { taskId } = (await service.createTask(key, 'tell.steps', { ...files, ...params })).body
  await untilBegun(files)
  await expect
    .poll(async () => (await service.get(`/api/tasks/${taskId}`, key)).body.progress, soon)
    .toMatchObject({ message: 'Step 2' })
  return { taskId: taskId as string, release: () => writeFileSync(files.release, '') }
}

/** Counts the user's open long polls, by how many more the service accepts. */
function places(service: TestService, userId: string): number {
  const { ends } = service.app.services.tasks
  let open = 0
  const waits = []
  for (;;) {
    const wait = ends.wait({ taskId: 'task_none', userId }, { signal: undefined })
    if (wait.isRefused) break
    waits.push(wait)
    open++
  }
  for (const wait of waits) wait.cancel()
  return waitersMax - open
}

test('task events start with the state, report each change, and end with the task once', async () => {
  const { follow, key, service, userId } = await startWorld()
  const { release, taskId } = await startSteps(service, key)
  const reader = await follow(taskId)
  expect(reader.status).toBe(200)
  expect(reader.headers).toMatchObject({ 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' })
  expect(await reader.until('state')).toEqual({
    type: 'state',
    timestamp,
    status: 'processing',
    attempt: 1,
    progress: second,
  })
  release()
  const events = await reader.all()
  const task = (await service.get(`/api/tasks/${taskId}`, key)).body
  expect(events.slice(1)).toEqual([
    { type: 'progress', timestamp, attempt: 1, progress: done },
    { type: 'state', timestamp, status: 'completed', attempt: 1, progress: done },
    { type: 'end', timestamp, task },
  ])
  expect(task).toMatchObject({ status: 'completed', progress: done })
  expect(places(service, userId)).toBe(0)
  await service.stop()
})

test('follows a queued task from its start', async () => {
  const { follow, key, service } = await startWorld({ taskConcurrency: 1 })
  const first = await startSteps(service, key)
  const { taskId } = (await service.createTask(key, 'tell.echo', { text: 'behind' })).body
  const reader = await follow(taskId)
  expect(await reader.until('state')).toEqual({ type: 'state', timestamp, status: 'pending', attempt: 0 })
  first.release()
  const events = await reader.all()
  // The state `processing` may be missing, because the task ends so quickly.
  expect(events.filter(({ type }) => type === 'end')).toEqual([events.at(-1)])
  expect(events.at(-1)).toMatchObject({ task: { status: 'completed', attempt: 1, response: { text: 'behind' } } })
  expect(events.every(({ type }) => type !== 'progress')).toBe(true)
  await service.stop()
})

test('followers of a burst of 10,000 reports get only a few, including the last', async () => {
  const { follow, key, service } = await startWorld({ taskConcurrency: 1 })
  const first = await startSteps(service, key)
  const { taskId } = (await service.createTask(key, 'tell.flood', { times: 10_000 })).body
  const readers = await Promise.all(Array.from({ length: 20 }, () => follow(taskId)))
  for (const reader of readers) await reader.until('state')
  first.release()
  for (const reader of readers) {
    const events = await reader.all()
    const told = events.filter(({ type }) => type === 'progress')
    expect(told.length).toBeLessThan(100)
    // If a follower misses such a short run, the final state still contains the last progress.
    const last = { fraction: 1, data: { at: 10_000 } }
    if (told.length > 0) expect(told.at(-1)).toMatchObject({ progress: last })
    expect(events.slice(-2)).toMatchObject([{ type: 'state', status: 'completed', progress: last }, { type: 'end' }])
  }
  await service.stop()
})

test('following an ended or canceled task immediately sends state and end', async () => {
  const { follow, key, service } = await startWorld()
  const { release, taskId } = await startSteps(service, key)
  const open = await follow(taskId)
  await open.until('state')
  await service.post(`/api/tasks/${taskId}/cancel`, undefined, { key })
  const ended = [
    { type: 'state', status: 'failed', attempt: 1 },
    { type: 'end', task: { id: taskId, status: 'failed', error: { code: 'CANCELED' } } },
  ]
  expect((await open.all()).slice(-2)).toMatchObject(ended)
  expect(await (await follow(taskId)).all()).toMatchObject(ended)
  release()
  await service.stop()
})

test('sends the same events as server-sent events for Accept: text/event-stream', async () => {
  const { follow, key, service } = await startWorld()
  const { release, taskId } = await startSteps(service, key)
  const reader = await follow(taskId, { accept: 'text/event-stream' })
  release()
  await reader.all()
  expect(reader.headers['content-type']).toBe('text/event-stream')
  const blocks = reader.text.split('\n\n')
  expect(blocks.pop()).toBe('')
  const events = blocks.map((block) => {
    const [, type, data] = /^event: (\w+)\ndata: (.*)$/.exec(block)!
    const event = JSON.parse(data!)
    expect(event.type).toBe(type)
    return event
  })
  expect(events[0]).toMatchObject({ type: 'state', status: 'processing' })
  expect(events.filter(({ type }) => type === 'end')).toEqual([events.at(-1)])
  const both = await follow(taskId, { accept: 'application/x-ndjson, text/event-stream' })
  expect(both.headers['content-type']).toBe('application/x-ndjson')
  await both.all()
  await service.stop()
})

test("treats another user's task as missing, and requires the read scope", async () => {
  const { follow, key, service } = await startWorld()
  const { release, taskId } = await startSteps(service, key)
  const other = await service.createPerson()
  const answerTo = async (path: string, own: string) => {
    const { body, headers, status } = await service.get(path, own)
    return { body, status, type: headers.get('content-type') }
  }
  const theirs = await answerTo(`/api/tasks/${taskId}/events`, other.key)
  expect(theirs).toEqual(await answerTo('/api/tasks/task_none/events', other.key))
  expect(theirs).toMatchObject({ status: 404, body: { error: 'Not found', message: 'Task not found. Check the id.' } })
  const blind = await service.createPerson({ scopes: ['execute'] })
  expect((await service.get(`/api/tasks/${taskId}/events`, blind.key)).status).toBe(403)
  expect((await service.get(`/api/tasks/${taskId}/events`)).status).toBe(401)
  expect((await service.request('HEAD', `/api/tasks/${taskId}/events`, { key })).status).toBe(405)
  release()
  await (await follow(taskId)).all()
  await service.stop()
})

test('a disconnected follower frees its slot, and followers beyond the maximum get 429', async () => {
  const { follow, key, service, userId } = await startWorld()
  const { release, taskId } = await startSteps(service, key)
  const readers = await Promise.all([1, 2, 3].map(() => follow(taskId)))
  await Promise.all(readers.map((reader) => reader.until('state')))
  expect(places(service, userId)).toBe(3)
  const { ends } = service.app.services.tasks
  const waits = Array.from({ length: waitersMax - 3 }, () =>
    ends.wait({ taskId, userId }, { timeoutMs: 60_000, signal: undefined }),
  )
  const { body, headers, status } = await service.get(`/api/tasks/${taskId}/events`, key)
  expect([status, body.code]).toEqual([429, 'RATE_LIMIT_EXCEEDED'])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  readers[0]!.leave()
  await expect.poll(async () => (await service.request('OPTIONS', '/api/tasks')).status, soon).toBe(204)
  for (const wait of waits) wait.cancel()
  await expect.poll(() => places(service, userId), soon).toBe(2)
  release()
  for (const reader of readers.slice(1)) expect((await reader.all()).at(-1)).toMatchObject({ type: 'end' })
  expect(places(service, userId)).toBe(0)
  await service.stop()
})

test('stopping the service ends open streams without an end event', async () => {
  const { follow, key, service } = await startWorld({ drainSeconds: 1 })
  const { taskId } = await startSteps(service, key)
  const reader = await follow(taskId)
  await reader.until('state')
  await service.stop()
  const events = await reader.all()
  expect(events.map(({ type }) => type)).toEqual(['state'])
})

test('the client yields the same events until the end, also over typed RPC', async () => {
  const { key, service, userId } = await startWorld()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { release, taskId } = await startSteps(service, key)
  const events: TaskEvent[] = []
  for await (const event of client.tasks.events(taskId)) {
    events.push(event)
    if (events.length === 1) release()
  }
  expect(events[0]).toMatchObject({ type: 'state', status: 'processing', progress: second })
  expect(events.filter(({ type }) => type === 'end')).toEqual([events.at(-1)])
  expect(events.at(-1)).toMatchObject({ task: { status: 'completed' } })
  await expect(client.tasks.events('task_none').next()).rejects.toMatchObject({
    code: 'NOT_FOUND',
    taskId: 'task_none',
  })
  const link = { url: `${service.url}/trpc`, transformer: superjson, headers: { Authorization: `Bearer ${key}` } }
  const rpc = createTRPCClient<AppRouter>({ links: [httpBatchStreamLink(link)] })
  const overRpc: ServerTaskEvent[] = []
  for await (const event of await rpc.tasks.events.query({ taskId })) overRpc.push(event)
  expect(overRpc).toMatchObject([
    { type: 'state', status: 'completed' },
    { type: 'end', task: { id: taskId } },
  ])
  const plain = createTRPCClient<AppRouter>({ links: [httpLink(link)] })
  await expect(plain.tasks.events.query({ taskId })).rejects.toThrow('httpBatchStreamLink')
  expect(places(service, userId)).toBe(0)
  await service.stop()
})

test('the client reconnects after a lost connection, starting with the state, and stops when aborted', async () => {
  const { key, service, userId } = await startWorld()
  const { release, taskId } = await startSteps(service, key)
  let cuts = 0
  // Simulates a proxy that cuts the first response after its first chunk.
  const cutting = async (url: string, init: RequestInit) => {
    const response = await fetch(url, init)
    if (cuts > 0) return response
    const reader = response.body!.getReader()
    const body = new ReadableStream(
      {
        pull: async (controller) => {
          if (cuts++ === 0) return controller.enqueue((await reader.read()).value)
          controller.error(new Error('cut'))
          await reader.cancel()
        },
      },
      { highWaterMark: 0 },
    )
    return new Response(body, { status: 200, headers: response.headers })
  }
  const retries: string[] = []
  const onRetry = ({ error, operation }: { error: { code: string }; operation: string }) =>
    retries.push(`${operation} ${error.code}`)
  const client = createClient({ baseUrl: service.url, apiKey: key, fetch: cutting, onRetry })
  const types: string[] = []
  for await (const event of client.tasks.events(taskId)) {
    types.push(event.type)
    if (types.length === 2) release()
  }
  expect(types.slice(0, 2)).toEqual(['state', 'state'])
  expect(types.indexOf('end')).toBe(types.length - 1)
  expect(retries).toEqual(['tasks.events NETWORK_ERROR'])

  const again = await startSteps(service, key)
  const leaving = new AbortController()
  const plain = createClient({ baseUrl: service.url, apiKey: key })
  const aborted = plain.tasks.events(again.taskId, { signal: leaving.signal })
  expect((await aborted.next()).value).toMatchObject({ type: 'state' })
  const next = aborted.next()
  leaving.abort(new Error('enough'))
  await expect(next).rejects.toThrow('enough')
  const left = plain.tasks.events(again.taskId)
  for await (const { type } of left) if (type === 'state') break
  await expect.poll(() => places(service, userId), soon).toBe(0)
  again.release()
  await service.stop()
})
