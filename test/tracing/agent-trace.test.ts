import { expect, test } from 'vitest'
import { defineConfig } from '../../server/agents/config/define-config.ts'
import { agentAt, startAgentService } from '../runner/agent-service.ts'
import { ChatReader } from '../support/chat-reader.ts'
import { startService } from '../support/test-service.ts'
import { expectOneEnd, Talker } from '../chat/chat-checks.ts'
import { startModels } from '../models/model-checks.ts'
import { reply } from '../support/model-provider.ts'
import { KeptSpans } from './kept-spans.ts'

const pricing = { inputPer1kUsd: '0', outputPer1kUsd: '0' }

/** Runs a task and a chat on an HTTP agent, and returns the trace headers it received. */
async function askedOnce(): Promise<(string | string[] | undefined)[]> {
  const remote = await startAgentService((response, { body }) => {
    const isChat = (body as { type: string }).type === 'chat'
    const answer = isChat ? '{"type":"text","delta":"Hello"}\n' : '{}'
    const type = isChat ? 'application/x-ndjson' : 'application/json'
    response.writeHead(200, { 'Content-Type': type, 'Content-Length': answer.length }).end(answer)
  })
  const run = { description: 'Is elsewhere.', priceUsd: '0', params: { type: 'object' } }
  const agent = { ...agentAt(remote.url), endpoints: { run }, chat: { pricing } }
  const service = await startService({ config: defineConfig({ agents: [agent] }) })
  const { key } = await service.createPerson()
  const headers = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
  await service.createTask(key, 'remote.run', {}, headers)
  await expect.poll(() => remote.requests.length).toBe(1)
  const { body } = await service.post('/api/sessions', { agentId: 'remote' }, { key })
  const chat = { sessionId: body.sessionId, message: 'Hello?' }
  expect(await (await ChatReader.open({ url: service.url, key, body: chat, headers })).end()).toMatchObject({
    type: 'done',
  })
  await service.stop()
  await remote.stop()
  return remote.requests.map((request) => request.headers['traceparent'])
}

test('an HTTP agent receives the trace context of its run', async () => {
  const spans = KeptSpans.register()
  const sent = await askedOnce()
  spans.unregister()
  const run = (await spans.run('remote.run')).spanContext()
  const turns = spans.named('invoke_agent Remote').filter(({ attributes }) => 'errand.turn.id' in attributes)
  expect(turns).toHaveLength(1)
  const turn = turns[0]!.spanContext()
  expect(sent).toEqual([`00-${run.traceId}-${run.spanId}-01`, `00-${turn.traceId}-${turn.spanId}-01`])
  // The chat belongs to its client's trace; the task's run starts a new trace.
  expect([turn.traceId, run.traceId === turn.traceId]).toEqual(['a'.repeat(32), false])
})

test('without tracing, an HTTP agent receives no trace context', async () => {
  expect(await askedOnce()).toEqual([undefined, undefined])
})

test("the span of a model agent's reply names its model and tokens", async () => {
  const spans = KeptSpans.register()
  const { provider, service, stop } = await startModels()
  const talker = await Talker.create(service, { agentId: 'model' })
  provider.play(reply({ text: ['Hello.'] }))
  expectOneEnd(await talker.chat('Hello?'), 'done')
  await stop()
  spans.unregister()
  const { attributes } = await spans.one('invoke_agent Model')
  expect(attributes).toMatchObject({ 'gen_ai.agent.id': 'model', 'gen_ai.request.model': 'stub-1' })
  expect(attributes['gen_ai.usage.output_tokens']).toBeGreaterThan(0)
})
