import { transactionTypes } from '../../server/store/accounts/account-types.ts'
import { expect, test } from 'vitest'
import { must } from '../../server/kernel/assert.ts'
import { parseUsd } from '../../server/kernel/money.ts'
import { soon } from '../runner/task-checks.ts'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { RawConnection } from '../support/raw-http.ts'
import { startService, type Person, type TestService } from '../support/test-service.ts'
import { Browser, password } from './browser-login.ts'
import { moved, readMetrics, type Samples } from './exposition.ts'

type Movement = { service: TestService; before: Samples; series: RegExp }

/** Polls, because the client gets its response a moment before the service counts it. */
async function expectMoved({ before, series, service }: Movement, by: Record<string, number>): Promise<void> {
  await expect.poll(async () => moved(before, await readMetrics(service), series), { timeout: 20_000 }).toEqual(by)
}

const free = { executionsPerMinute: 0 }

async function chat(service: TestService, { key, message }: { key: string; message: string }) {
  const session = await service.post('/api/sessions', { agentId: 'talk' }, { key })
  return await ChatReader.open({ url: service.url, key, body: { sessionId: session.body.sessionId, message } })
}

test('counts runs by outcome and agent, and task failures by code', async () => {
  const service = await startService({ limits: free })
  const { key } = await service.createPerson()
  const before = await readMetrics(service)
  for (let n = 0; n < 3; n++) await service.runTask(key, 'test.echo', { n })
  for (let n = 0; n < 2; n++) await service.runTask(key, 'test.fail')
  await service.runTask(key, 'test.stubborn')
  await service.runTask(key, 'test.value', { value: 1 })
  await expectMoved(
    { service, before, series: /^errand_(?:runs|task_failures)_total/ },
    {
      'errand_runs_total{kind="task",end="completed",agent="test"}': 4,
      'errand_runs_total{kind="task",end="failed",agent="test"}': 3,
      'errand_task_failures_total{code="AGENT_ERROR"}': 2,
      'errand_task_failures_total{code="AGENT_TIMEOUT"}': 1,
    },
  )
  await expectMoved(
    { service, before, series: /^errand_(?:run_duration|task_wait)_seconds_count/ },
    {
      'errand_run_duration_seconds_count{kind="task"}': 7,
      errand_task_wait_seconds_count: 7,
    },
  )
  // The task that timed out was running for one second.
  const after = await readMetrics(service)
  expect(after.get('errand_run_duration_seconds_sum{kind="task"}')).toBeGreaterThan(0.9)
  await service.stop()
})

test('a shutdown counts the runs it interrupts; after a crash the next process counts them', async () => {
  const service = await startService({ limits: { ...free, drainSeconds: 0 } })
  const { key } = await service.createPerson()
  const { body } = await service.createTask(key, 'test.wait', { ms: 20_000 })
  await expect.poll(async () => (await service.get(`/api/tasks/${body.taskId}`, key)).body.status).toBe('processing')
  const running = await readMetrics(service)
  expect(running.get('errand_running{kind="task"}')).toBe(1)
  expect(running.get('errand_tasks{status="processing"}')).toBe(1)
  service.app.services.tasks.runner.interrupt()
  const interrupted = 'errand_runs_total{kind="task",end="interrupted",agent="test"}'
  await expect.poll(async () => (await readMetrics(service)).get(interrupted), { timeout: 20_000 }).toBe(1)
  // As after a crash, rows are in `processing` that no process runs.
  const left = await startService({ limits: { ...free, taskConcurrency: 0 } })
  const person = await left.createPerson()
  const created = await left.createTask(person.key, 'test.echo')
  await left.app.store.claimTask(created.body.taskId as string)
  await left.app.services.tasks.runner.start()
  await expect.poll(async () => (await readMetrics(left)).get(interrupted), soon).toBe(1)
  await Promise.all([service.stop(), left.stop()])
})

test('counts chats with only the tokens and tool calls that were charged', async () => {
  const service = await startService({ limits: free })
  const { key } = await service.createPerson()
  const before = await readMetrics(service)
  const usage = { do: 'usage', promptTokens: 12, completionTokens: 34, reasoningTokens: 5 } as const
  const calls = [
    { do: 'call', id: 'a' },
    { do: 'result', id: 'a', output: {} },
    { do: 'call', id: 'b' },
    { do: 'result', id: 'b', output: {} },
  ] as const
  const finished = await chat(service, { key, message: say(...calls, { do: 'text', delta: 'Hello' }, usage) })
  await finished.all()
  expect(finished.text).toContain('"done"')
  const failed = await chat(service, { key, message: say(usage, { do: 'throw', message: 'It broke.' }) })
  await failed.all()
  await expectMoved(
    { service, before, series: /^errand_(?:runs_total|chat_)/ },
    {
      'errand_runs_total{kind="chat",end="finished",agent="talk"}': 1,
      'errand_runs_total{kind="chat",end="failed",agent="talk"}': 1,
      'errand_chat_tokens_total{kind="prompt"}': 12,
      'errand_chat_tokens_total{kind="completion"}': 34,
      'errand_chat_tokens_total{kind="reasoning"}': 5,
      errand_chat_tool_calls_total: 2,
      'errand_chat_charged_usd_total{agent="talk"}': 0.0262,
    },
  )
  expect((await readMetrics(service)).get('errand_run_duration_seconds_count{kind="chat"}')).toBe(2)
  // A stream is counted but not timed, because its reader determines how long it lasts.
  await expectMoved(
    { service, before, series: /chat",status|duration_seconds_count\{operation="chat"/ },
    {
      'errand_http_requests_total{operation="chat",status="200"}': 2,
    },
  )
  const left = await chat(service, { key, message: say({ do: 'text', delta: 'Hello' }, { do: 'await-abort' }) })
  await left.until('assistant_delta')
  left.leave()
  const truncated = 'errand_runs_total{kind="chat",end="truncated",agent="talk"}'
  await expect.poll(async () => (await readMetrics(service)).get(truncated)).toBe(1)
  await service.stop()
})

test('counts rejections by code and requests by operation and status, over REST and RPC', async () => {
  const service = await startService({ limits: { executionsPerMinute: 3 } })
  const { key } = await service.createPerson()
  const { key: poor } = await service.createPerson({ balanceUsd: '0' })
  const before = await readMetrics(service)
  await service.get('/api/account')
  await service.get('/trpc/account.get')
  await service.get('/api/tasks/task_unknown', key)
  await service.get('/api/nothing', key)
  await service.post('/trpc/tasks.create', { json: { endpointId: 'test.echo' } }, { key })
  for (let n = 0; n < 4; n++) await service.createTask(key, 'test.echo')
  await service.createTask(poor, 'test.echo')
  await service.get('/api/payloads/pay_unknown?expires=1&signature=x')
  await service.request('PUT', '/api/tasks', { key })
  await expectMoved(
    { service, before, series: /^errand_refusals_total/ },
    {
      'errand_refusals_total{code="UNAUTHORIZED"}': 2,
      'errand_refusals_total{code="NOT_FOUND"}': 2,
      'errand_refusals_total{code="BAD_REQUEST"}': 1,
      'errand_refusals_total{code="RATE_LIMIT_EXCEEDED"}': 1,
      'errand_refusals_total{code="INSUFFICIENT_BALANCE"}': 1,
      'errand_refusals_total{code="FORBIDDEN"}': 1,
      'errand_refusals_total{code="METHOD_NOT_ALLOWED"}': 1,
    },
  )
  await expectMoved(
    { service, before, series: /^errand_http_requests_total(?!.*"page")/ },
    {
      'errand_http_requests_total{operation="getAccount",status="401"}': 1,
      'errand_http_requests_total{operation="account.get",status="401"}': 1,
      'errand_http_requests_total{operation="getTask",status="404"}': 1,
      'errand_http_requests_total{operation="other",status="404"}': 1,
      'errand_http_requests_total{operation="other",status="405"}': 1,
      'errand_http_requests_total{operation="tasks.create",status="400"}': 1,
      'errand_http_requests_total{operation="createTask",status="200"}': 3,
      'errand_http_requests_total{operation="createTask",status="429"}': 1,
      'errand_http_requests_total{operation="createTask",status="403"}': 1,
      'errand_http_requests_total{operation="payload",status="403"}': 1,
    },
  )
  const samples = await readMetrics(service)
  expect(samples.get('errand_http_request_duration_seconds_count{operation="createTask"}')).toBe(5)
  await service.stop()
})

async function ledgerOf(service: TestService, people: readonly Person[]) {
  const sums = Object.fromEntries(transactionTypes.map((type) => [type, { count: 0, units: 0 }]))
  for (const { userId } of people) {
    const { transactions } = await service.app.store.listTransactions({ userId, limit: 100, offset: 0 })
    for (const { amount, type } of transactions) {
      sums[type]!.count++
      sums[type]!.units += Math.abs(amount)
    }
  }
  return sums
}

test('counts transaction amounts exactly as in the ledger and ignores rejected requests', async () => {
  const service = await startService({ limits: { ...free, abuseFailures: 0 } })
  const admin = await service.createPerson({ password, isAdmin: true, balanceUsd: '1.0001' })
  const person = await service.createPerson({ balanceUsd: '20.0000' })
  const people = [admin, person]
  const browser = await Browser.loggedIn(service, { email: admin.email, password })
  const correction = { amountUsd: '-0.1234', reason: 'A correction' }
  expect((await browser.post(`/api/users/${person.userId}/credit`, correction)).status).toBe(200)
  await Promise.all(Array.from({ length: 12 }, () => service.runTask(person.key, 'test.echo')))
  await Promise.all(Array.from({ length: 5 }, () => service.runTask(person.key, 'test.fail')))
  await Promise.all(Array.from({ length: 5 }, () => service.createTask(admin.key, 'test.dear')))
  const reply = await chat(service, { key: person.key, message: say({ do: 'text', delta: 'Hello', times: 200 }) })
  await reply.all()
  const samples = await readMetrics(service)
  const ledger = await ledgerOf(service, people)
  expect(Object.values(ledger).filter(({ count }) => count > 0).length).toBeGreaterThanOrEqual(4)
  for (const [type, { count, units }] of Object.entries(ledger)) {
    expect(samples.get(`errand_transactions_total{type="${type}"}`), type).toBe(count)
    const usd = must(samples.get(`errand_transactions_usd_total{type="${type}"}`), type)
    expect(parseUsd(usd.toFixed(4)), type).toBe(units)
  }
  await service.stop()
})

test('counters start at zero, and known series exist before the first event', async () => {
  const service = await startService()
  const samples = await readMetrics(service)
  for (const series of [
    'errand_runs_total{kind="task",end="failed",agent="test"}',
    'errand_runs_total{kind="chat",end="finished",agent="talk"}',
    'errand_refusals_total{code="RATE_LIMIT_EXCEEDED"}',
    'errand_task_failures_total{code="AGENT_TIMEOUT"}',
    'errand_chat_tokens_total{kind="prompt"}',
    'errand_transactions_total{type="credit"}',
    'errand_transactions_usd_total{type="task_charge"}',
    'errand_database_commit_failures_total',
    'errand_tasks{status="pending"}',
    'errand_running{kind="task"}',
  ]) {
    expect(samples.get(series), series).toBe(0)
  }
  expect(samples.get('errand_accepting')).toBe(1)
  expect(samples.get('errand_database_up')).toBe(1)
  for (const series of [
    'process_open_fds',
    'process_resident_memory_bytes',
    'errand_database_bytes{file="database"}',
  ]) {
    expect(samples.get(series), series).toBeGreaterThan(0)
  }
  await expect.poll(async () => (await readMetrics(service)).get('errand_ledger_differences')).toBe(0)
  const { key } = await service.createPerson()
  await service.createTask(key, 'test.echo')
  expect((await readMetrics(service)).get('errand_database_commit_duration_seconds_count')).toBeGreaterThan(1)
  await service.stop()
})

test('client-chosen names create no series: all unknown paths and operations share one', async () => {
  const service = await startService({ limits: free })
  const { key } = await service.createPerson()
  await service.get('/api/nothing', key)
  await service.get('/trpc/nothing', key)
  await service.post('/api/tasks', '{', { key })
  const series = await readMetrics(service)
  for (let n = 0; n < 20; n++) {
    await service.get(`/api/nothing-${n}`, key)
    await service.get(`/api/tasks/task_${n}`, key)
    await service.get(`/trpc/nothing-${n}`, key)
    await service.get(`/nothing-${n}`)
    await service.createTask(key, `test.nothing-${n}`)
  }
  const more = [...(await readMetrics(service)).keys()].filter((name) => !series.has(name))
  expect(more.filter((name) => name.includes('nothing') || name.includes('task_'))).toEqual([])
  expect(more.filter((name) => name.startsWith('errand_http_requests_total')).length).toBeLessThanOrEqual(5)
  await service.stop()
})

test('counts a client that disconnects early as 499 and invalid HTTP as a rejected request', async () => {
  const service = await startService({ limits: free })
  const { key } = await service.createPerson()
  const before = await readMetrics(service)
  const { body } = await service.createTask(key, 'test.wait', { ms: 500 })
  const client = new AbortController()
  const headers = { Authorization: `Bearer ${key}` }
  const held = fetch(`${service.url}/api/tasks/${body.taskId}?wait=20`, { headers, signal: client.signal })
  const running = async () => (await service.get(`/api/tasks/${body.taskId}`, key)).body.status
  await expect.poll(running, { timeout: 20_000 }).toBe('processing')
  client.abort()
  await expect(held).rejects.toThrow('aborted')
  using raw = await RawConnection.open(service.url)
  await raw.send('NONSENSE\r\n\r\n')
  expect((await raw.readAnswer())?.status).toBe(400)
  await expectMoved(
    { service, before, series: /^errand_http_requests_total\{(?:operation="getTask",status="499"|operation="other")/ },
    {
      'errand_http_requests_total{operation="getTask",status="499"}': 1,
      'errand_http_requests_total{operation="other",status="400"}': 1,
    },
  )
  const samples = await readMetrics(service)
  expect(samples.get('errand_refusals_total{code="BAD_REQUEST"}')).toBe(1)
  await service.stop()
})
