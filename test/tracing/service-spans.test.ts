import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { BasicTracerProvider, BatchSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServiceLog } from '../../server/app/service-log.ts'
import { ErrandError } from '../../server/kernel/errors.ts'
import { ServiceTracing } from '../../server/kernel/tracing/service-tracing.ts'
import { say } from '../support/chat-agents.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startService, type TestService } from '../support/test-service.ts'
import { KeptSpans } from './kept-spans.ts'

const soon = { timeout: 20_000 }
const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'

let spans: KeptSpans
beforeEach(() => {
  spans = KeptSpans.register()
})
afterEach(() => spans.unregister())

async function openSession({ service, key }: { service: TestService; key: string }): Promise<string> {
  return (await service.post('/api/sessions', { agentId: 'talk' }, { key })).body.sessionId as string
}

test("a request has a span for its operation, with the client's span as parent", async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const headers = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'vendor=value' }
  const created = await service.createTask(key, 'test.echo', { text: 'what a user wrote' }, headers)
  const { taskId } = created.body
  const span = await spans.one('createTask')
  expect(span.kind).toBe(SpanKind.SERVER)
  expect(span.spanContext().traceId).toBe(traceId)
  expect(span.parentSpanContext).toMatchObject({ traceId, spanId, isRemote: true })
  expect(span.spanContext().traceState?.get('vendor')).toBe('value')
  expect(span.attributes).toEqual({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'http.route': '/api/tasks',
    'url.path': '/api/tasks',
    'url.scheme': 'http',
    'user.id': userId,
    'errand.request.id': created.headers.get('x-request-id'),
    'errand.task.id': taskId,
  })
  expect(span.status.code).toBe(SpanStatusCode.UNSET)
  await service.get(`/api/tasks/${taskId}?wait=1`, key)
  const read = await spans.one('getTask')
  expect(read.attributes).toMatchObject({ 'http.route': '/api/tasks/{taskId}', 'url.path': `/api/tasks/${taskId}` })
  expect(read.parentSpanContext).toBeUndefined()
  await service.stop()
})

test.each([
  '',
  'nonsense',
  `00-${'0'.repeat(32)}-${spanId}-01`,
  `ff-${traceId}-${spanId}-01`,
  `00-${traceId}-${spanId}`,
])('a request with the invalid traceparent "%s" starts its own trace', async (traceparent) => {
  const service = await startService()
  await service.request('GET', '/api/account', { headers: { traceparent } })
  const span = await spans.one('getAccount')
  expect(span.parentSpanContext).toBeUndefined()
  expect(span.spanContext().traceId).not.toBe(traceId)
  expect(span.attributes['http.response.status_code']).toBe(401)
  // A rejection is the client's error, so the span has no error status.
  expect(span.status.code).toBe(SpanStatusCode.UNSET)
  await service.stop()
})

test('traces typed RPC by operation and server faults as errors, but does not trace probes', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  await service.get('/trpc/account.get', key)
  expect((await spans.one('account.get')).attributes).toMatchObject({ 'http.route': '/trpc/account.get' })
  service.app.store.listKeys = () => Promise.reject(new Error('a fault'))
  expect((await service.get('/api/keys', key)).status).toBe(500)
  const failed = await spans.one('listKeys')
  expect(failed.status.code).toBe(SpanStatusCode.ERROR)
  expect(failed.attributes).toMatchObject({ 'http.response.status_code': 500, 'error.type': '500' })
  await service.get('/healthz')
  await service.get('/readyz')
  await service.get('/metrics')
  await service.get('/docs')
  expect((await spans.one('page')).attributes).toMatchObject({ 'url.path': '/docs' })
  await service.stop()
  expect(spans.all.map(({ attributes }) => attributes['url.path'])).not.toContain('/healthz')
})

test('a task run has its own trace, linked to its request, with its outcome', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const completed = await service.runTask(key, 'test.echo')
  const request = await spans.one('createTask')
  const run = await spans.run('test.echo')
  expect([run.name, run.kind]).toEqual(['invoke_agent Test agent', SpanKind.CONSUMER])
  expect(run.parentSpanContext).toBeUndefined()
  expect(run.spanContext().traceId).not.toBe(request.spanContext().traceId)
  expect(run.links.map(({ context }) => context.spanId)).toEqual([request.spanContext().spanId])
  expect(run.attributes).toEqual({
    'errand.task.id': completed.id,
    'errand.task.attempt': 1,
    'errand.endpoint.id': 'test.echo',
    'errand.run.end': 'completed',
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'errand',
    'gen_ai.agent.id': 'test',
    'gen_ai.agent.name': 'Test agent',
    'user.id': userId,
  })
  await service.runTask(key, 'test.fail', { message: 'what a user wrote' })
  const failed = await spans.run('test.fail')
  expect(failed.status).toEqual({ code: SpanStatusCode.ERROR, message: 'AGENT_ERROR' })
  expect(failed.attributes).toMatchObject({ 'errand.run.end': 'failed', 'error.type': 'AGENT_ERROR' })
  // A task admitted by another process has no request span in this process.
  const queued = await startService({ limits: { taskConcurrency: 0 } })
  const person = await queued.createPerson()
  await queued.createTask(person.key, 'test.dear')
  const before = { dataDir: queued.dataDir }
  await queued.app.stop()
  const restarted = await startService(before)
  expect((await spans.run('test.dear')).links).toEqual([])
  await restarted.stop()
  await queued.stop()
  await service.stop()
})

test('a chat span is a child of its request, with its tokens and cost', async () => {
  const service = await startService()
  const { key, userId } = await service.createPerson()
  const sessionId = await openSession({ service, key })
  const details = { cachedPromptTokens: 1000, reasoningTokens: 20 }
  const usage = { do: 'usage', promptTokens: 1200, completionTokens: 34, ...details } as const
  const message = say({ do: 'call', id: 'a' }, { do: 'result', id: 'a', output: {} }, usage)
  const chat = await ChatReader.open({ url: service.url, key, body: { sessionId, message } })
  const { costUsd } = await chat.end()
  const request = await spans.one('chat')
  const turn = await spans.one('invoke_agent Talker')
  expect(turn.kind).toBe(SpanKind.INTERNAL)
  expect(turn.parentSpanContext?.spanId).toBe(request.spanContext().spanId)
  expect(request.attributes).toMatchObject({ 'http.route': '/api/chat', 'gen_ai.conversation.id': sessionId })
  expect(turn.attributes).toEqual({
    'errand.turn.id': expect.stringMatching(/^turn_/),
    'errand.run.end': 'finished',
    'errand.tool_calls': 1,
    'errand.cost_usd': costUsd,
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': 'errand',
    'gen_ai.agent.id': 'talk',
    'gen_ai.agent.name': 'Talker',
    'gen_ai.conversation.id': sessionId,
    'gen_ai.usage.input_tokens': 1200,
    'gen_ai.usage.output_tokens': 34,
    'gen_ai.usage.cache_read.input_tokens': 1000,
    'gen_ai.usage.reasoning.output_tokens': 20,
    'user.id': userId,
  })
  await service.stop()
})

test('each commit has a span with its number of commands', async () => {
  const service = await startService()
  const { key } = await service.createPerson()
  const before = spans.named('commit').length
  await service.createTask(key, 'test.echo')
  await expect.poll(() => spans.named('commit').length, soon).toBeGreaterThan(before)
  const [span] = spans.named('commit').slice(before)
  expect(span!.attributes).toMatchObject({ 'db.system.name': 'sqlite', 'db.operation.batch.size': 1 })
  expect(span!.duration[0]).toBe(0)
  expect(Math.abs(span!.startTime[0] - Date.now() / 1000)).toBeLessThan(60)
  await service.stop()
})

test('no span contains user content or a secret', async () => {
  const lines: string[] = []
  const log = createServiceLog('debug', { write: (text) => void lines.push(text) })
  const service = await startService({ log, limits: { executionsPerMinute: 0 } })
  const { key } = await service.createPerson()
  const told = 'what-a-user-wrote'
  await service.runTask(key, 'test.echo', { text: told.repeat(2000) })
  await service.runTask(key, 'test.fail', { message: told })
  const sessionId = await openSession({ service, key })
  for (const message of [told, say({ do: 'throw', message: told })]) {
    const chat = await ChatReader.open({ url: service.url, key, body: { sessionId, message } })
    await chat.all()
  }
  const failing = new ErrandError('SERVICE_UNAVAILABLE', told, { cause: new Error(told) })
  service.app.store.listKeys = () => Promise.reject(failing)
  await service.get('/api/keys?x=1', key)
  await service.get(`/api/tasks/${key}?note=${told}`, key)
  await service.get(`/api/tasks?agentId=${told}`, key)
  await service.stop()
  const seen = JSON.stringify(
    spans.all.map(({ attributes, events, name, status }) => ({ name, attributes, status, events })),
  )
  expect(spans.all.length).toBeGreaterThan(10)
  for (const secret of [told, key]) expect(seen.includes(secret), secret).toBe(false)
  // Log lines name the trace of their request.
  const request = spans.named('createTask')[0]!
  const line = lines.map((text) => JSON.parse(text)).find(({ operation }) => operation === 'createTask')
  expect(line.traceId).toBe(request.spanContext().traceId)
})

test('stopping the service flushes spans, even with another copy of the API package', async () => {
  spans.unregister()
  const sent: string[] = []
  const exporter = {
    export: (batch: ReadableSpan[], done: (result: { code: number }) => void) => {
      sent.push(...batch.map(({ name }) => name))
      done({ code: 0 })
    },
    shutdown: async () => {},
  }
  const spanProcessors = [new BatchSpanProcessor(exporter, { scheduledDelayMillis: 600_000 })]
  const provider = new BasicTracerProvider({ spanProcessors })
  // Simulates another copy of the package, which shares no classes with ours.
  const foreign = {
    getTracer: (name: string) => provider.getTracer(name),
    getDelegate: () => provider,
    getDelegateTracer: (name: string) => provider.getTracer(name),
  }
  const interfaces = (globalThis as any)[Symbol.for('opentelemetry.js.api.1')] as { trace?: unknown }
  interfaces.trace = foreign
  const service = await startService()
  await service.get('/api/account')
  expect(sent).toEqual([])
  await service.stop()
  delete interfaces.trace
  expect(sent).toContain('getAccount')
})

test('does not trace without an SDK', async () => {
  spans.unregister()
  expect(ServiceTracing.open()).toBeUndefined()
  const service = await startService()
  const { key } = await service.createPerson()
  await service.runTask(key, 'test.echo')
  await service.stop()
  expect(spans.all).toEqual([])
  expect(trace.getActiveSpan()).toBeUndefined()
})

test('an SDK that always throws does not affect requests or runs', async () => {
  spans.unregister()
  const broken = () => {
    throw new Error('The SDK is broken.')
  }
  const spanContext = () => ({ traceId, spanId, traceFlags: 1 })
  const span = new Proxy({}, { get: (_, name) => (name === 'spanContext' ? spanContext : broken) })
  for (const startSpan of [broken, () => span]) {
    const provider = { getTracer: () => ({ startSpan }) } as unknown as BasicTracerProvider
    trace.setGlobalTracerProvider(provider)
    const service = await startService()
    const { key } = await service.createPerson({ balanceUsd: '1.0000' })
    expect(await service.runTask(key, 'test.echo')).toMatchObject({ status: 'completed' })
    const { body } = await service.post('/api/sessions', { agentId: 'talk' }, { key })
    const reader = await ChatReader.open({
      url: service.url,
      key,
      body: { sessionId: body.sessionId, message: say({ do: 'text', delta: 'Hello' }) },
    })
    expect(await reader.end()).toMatchObject({ type: 'done' })
    await service.stop()
    trace.disable()
  }
})
