import { Session, type HeapProfiler } from 'node:inspector/promises'
import { Worker } from 'node:worker_threads'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect, test, vi } from 'vitest'
import chatAgents, { say } from '../../support/chat-agents.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { until } from '../../support/until.ts'

// Costs of requests in counts instead of times: statements, B-trees, messages between threads, and allocations.

type Run = (this: { source: string }, ...values: unknown[]) => unknown

/** Statements that frame transactions, and the dispatcher's search for due webhook deliveries. */
const notOfRequests = /^(BEGIN|COMMIT|SAVEPOINT|RELEASE|PRAGMA|WITH RECURSIVE rows \(webhook_id)/i

/** Returns the SQL of every statement executed during `work`. */
async function executed(work: () => Promise<unknown>): Promise<string[]> {
  const seen: string[] = []
  const prototype = Object.getPrototypeOf(new Database(':memory:').prepare('SELECT 1')) as Record<string, Run>
  const methods = ['run', 'get', 'all', 'iterate'] as const
  const originals = methods.map((method) => prototype[method]!)
  for (const [index, method] of methods.entries()) {
    prototype[method] = function (...values) {
      if (!notOfRequests.test(this.source)) seen.push(this.source)
      return originals[index]!.apply(this, values)
    }
  }
  try {
    await work()
  } finally {
    for (const [index, method] of methods.entries()) prototype[method] = originals[index]!
  }
  return seen
}

/** Returns the verb and table of each statement, such as `insert tasks`. */
function named(statements: readonly string[]): string[] {
  const name =
    /^\s*(?:(insert) into (\w+)|(update) "?(\w+)|(select)[\s\S]*? from "?(\w+)|(delete) from (\w+)|(with)[\s\S]*)/i
  return statements.map((sql) => {
    const words = name.exec(sql)?.slice(1).filter(Boolean) ?? [sql]
    return words.join(' ').toLowerCase()
  })
}

async function startCounted(
  limits = {},
): Promise<{ service: TestService; key: string; submit: () => Promise<string> }> {
  const service = await startService({ limits: { executionsPerMinute: 0, ...limits } })
  const { key } = await service.createPerson({ balanceUsd: '100' })
  const submit = async () => {
    const { body, status } = await service.post('/api/tasks', { endpointId: 'test.echo', params: { n: 1 } }, { key })
    expect(status).toBe(200)
    return body.taskId as string
  }
  return { service, key, submit }
}

test('reading a task executes one statement; from the third read on, none until the task changes', async () => {
  const { key, service, submit } = await startCounted({ taskConcurrency: 0, executionsPerMinute: 10 })
  const taskId = await submit()
  const path = `/api/tasks/${taskId}`
  const read = async () => expect((await service.get(path, key)).status).toBe(200)
  for (let n = 0; n < 2; n++) expect(named(await executed(read))).toEqual(['select tasks'])
  const again = async () => {
    for (let n = 0; n < 5; n++) await read()
  }
  expect(await executed(again)).toEqual([])
  await service.post(`${path}/cancel`, {}, { key })
  expect((await service.get(path, key)).body).toMatchObject({ status: 'failed', error: { code: 'CANCELED' } })
  await service.stop()
})

test('session and chat requests execute only the expected reads', async () => {
  const service = await startService({ config: chatAgents, limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson({ balanceUsd: '100' })
  const open = async () => (await service.post('/api/sessions', { agentId: 'talk' }, { key })).body.sessionId as string
  const sessionId = await open()
  const message = say({ do: 'text', delta: 'Some text.' })
  const chat = async () => {
    expect((await service.post('/api/chat', { sessionId, message }, { key })).status).toBe(200)
  }
  await chat()
  const reads = async (work: () => Promise<unknown>) => {
    const names = named(await executed(work))
    return names.filter((name) => name.startsWith('select'))
  }
  expect(await reads(open)).toEqual(['select accounts', 'select session_totals', 'select sessions'])
  expect(await reads(chat)).toEqual([
    'select sessions',
    'select messages',
    'select accounts',
    'select sessions',
    'select turns',
    'select accounts',
  ])
  await service.stop()
})

/**
 * Counts the statements prepared during `work`, by counting the functions that better-sqlite3 creates for their rows.
 */
async function prepared(work: () => Promise<unknown>): Promise<number> {
  const make = vi.spyOn(globalThis, 'Function')
  try {
    await work()
    return make.mock.calls.filter(([body]) => String(body).startsWith('return (v0')).length
  } finally {
    make.mockRestore()
  }
}

test('lists with other limits or users reuse prepared statements', async () => {
  const { key, service, submit } = await startCounted()
  const { key: other } = await service.createPerson({ balanceUsd: '1' })
  const lists = ['tasks', 'tasks?agentId=test', 'tasks?status=completed', 'sessions', 'keys', 'transactions']
  const read = async (limit: number) => {
    await submit()
    for (const list of lists) {
      for (const by of [key, other]) {
        const { status } = await service.get(`/api/${list}${list.includes('?') ? '&' : '?'}limit=${limit}`, by)
        expect(status, list).toBe(200)
      }
    }
  }
  await read(3)
  expect(await prepared(async () => await read(5))).toBe(0)
  await service.stop()
})

test('a list by tags walks the rarest tag, or the tasks with its status if they are fewer', async () => {
  const { key, service } = await startCounted({ taskConcurrency: 0 })
  for (const tags of [{ env: 'prod' }, { env: 'prod', customer: 'acme' }]) {
    const { status } = await service.post('/api/tasks', { endpointId: 'test.echo', params: {}, tags }, { key })
    expect(status).toBe(200)
  }
  const walks = async (query: string) => {
    const statements = await executed(async () => {
      expect((await service.get(`/api/tasks?${query}`, key)).status).toBe(200)
    })
    const isList = (sql: string) => / AS "createdAt"/.test(sql)
    return statements.filter(isList).map((sql) => /FROM (task_tags|tasks INDEXED BY \w+)/.exec(sql)?.[1])
  }
  expect(new Set(await walks('tag=env:prod'))).toEqual(new Set(['task_tags']))
  expect(new Set(await walks('tag=customer:acme&status=pending'))).toEqual(new Set(['task_tags']))
  expect(new Set(await walks('tag=env:prod&status=failed'))).toEqual(new Set(['tasks INDEXED BY tasks_user_status']))
  await service.stop()
})

test('submitting a task reads the account once and reads no written row back', async () => {
  const { service, submit } = await startCounted({ taskConcurrency: 0 })
  await submit()
  const statements = await executed(submit)
  expect(named(statements)).toEqual([
    'select accounts',
    'update accounts',
    'insert transactions',
    'insert tasks',
    'insert counters',
    'insert counters',
  ])
  expect(statements.find((sql) => /INSERT INTO tasks/i.test(sql))).not.toMatch(/RETURNING/i)
  await service.stop()
})

test('a task takes twelve write statements from submission to completion', async () => {
  const { key, service, submit } = await startCounted()
  const run = async () => {
    const taskId = await submit()
    await until('the task has ended', 20_000, async () => {
      const { body } = await service.get(`/api/tasks/${taskId}?wait=5`, key)
      return body.status === 'completed'
    })
  }
  await run()
  const changes = named(await executed(run)).filter((name) => !/^(?:select|with)/.test(name))
  expect(changes.toSorted()).toEqual([
    'insert book_days',
    'insert counters',
    'insert counters',
    'insert counters',
    'insert counters',
    'insert tasks',
    'insert transactions',
    'update accounts',
    'update counters',
    'update counters',
    'update tasks',
    'update tasks',
  ])
  await service.stop()
})

test('a hundred busy replies on two threads send far fewer messages than events', async () => {
  const service = await startService({
    configFile: fileURLToPath(new URL('../../support/chat-agents.ts', import.meta.url)),
    limits: { executionsPerMinute: 0, agentThreads: 2 },
  })
  const { key } = await service.createPerson({ balanceUsd: '1000' })
  const [chats, deltas] = [100, 500]
  const sessions = await Promise.all(
    Array.from({ length: chats }, async () => (await service.post('/api/sessions', { agentId: 'talk' }, { key })).body),
  )
  let messages = 0
  const emit = Worker.prototype.emit as (...values: unknown[]) => boolean
  const spy = vi.spyOn(Worker.prototype, 'emit').mockImplementation(function (this: Worker, ...values: unknown[]) {
    if (values[0] === 'message') messages++
    return emit.apply(this, values)
  })
  try {
    const message = say({ do: 'flood', times: deltas, delta: 'a few words ' })
    const replies = await Promise.all(
      sessions.map(
        async ({ sessionId }) => (await service.post('/api/chat', { sessionId, message }, { key })).body as string,
      ),
    )
    for (const reply of replies) expect(reply.trimEnd().split('\n')).toHaveLength(deltas + 1)
  } finally {
    spy.mockRestore()
  }
  // On an idle machine 200 deltas take one message. A busy machine needs more, because output is flushed every 8 ms.
  expect(messages).toBeLessThan((chats * deltas) / 10)
  await service.stop()
})

test('reading a task allocates a bounded amount of memory', async () => {
  const { key, service, submit } = await startCounted({ taskConcurrency: 0, executionsPerMinute: 10 })
  const taskId = await submit()
  const read = async (times: number) => {
    for (let n = 0; n < times; n++) expect((await service.get(`/api/tasks/${taskId}`, key)).status).toBe(200)
  }
  await read(300)
  const session = new Session()
  session.connect()
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 1024,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  } as HeapProfiler.StartSamplingParameterType)
  const times = 500
  await read(times)
  const { profile } = await session.post('HeapProfiler.stopSampling')
  session.disconnect()
  expect(allocatedBy('/server/', profile.head) / times).toBeLessThan(30_000)
  await service.stop()
})

/** Returns the bytes allocated by functions of these files, including the functions that they call. */
function allocatedBy(files: string, node: HeapProfiler.SamplingHeapProfileNode, isInside = false): number {
  const isOurs = isInside || node.callFrame.url.includes(files)
  const own = isOurs ? node.selfSize : 0
  return node.children.reduce((sum, child) => sum + allocatedBy(files, child, isOurs), own)
}
