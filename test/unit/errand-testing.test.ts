import { createServer } from 'node:http'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import type { ChatEvent } from '../../client/client.ts'
import type { ErrandConfig } from '../../server/agents/config/define-config.ts'
import { scriptedModel, startTestErrand, type TestErrandOptions } from '../../server/testing/testing.ts'
import { temporaryFolder } from '../support/resources.ts'
import { until } from '../support/until.ts'

const greet = {
  description: 'Greets.',
  priceUsd: '0.0100',
  params: z.object({ name: z.string().min(1) }),
  run: ({ params }: { params: { name: string } }) => ({ greeting: `Hello, ${params.name}!` }),
}
const config: ErrandConfig = { agents: [{ kind: 'code', id: 'hello', name: 'Hello', endpoints: { greet } }] }
let temporary = ''

beforeEach(() => {
  temporary = temporaryFolder('testing')
  vi.stubEnv('TMPDIR', temporary)
  return () => vi.unstubAllEnvs()
})

async function start(options: TestErrandOptions) {
  const errand = await startTestErrand(options)
  onTestFinished(() => errand.close())
  return errand
}

test('charges only the user of a task, and closing leaves nothing behind', async () => {
  const errand = await startTestErrand({ config, balanceUsd: '5' })
  expect(readdirSync(temporary)).toHaveLength(1)
  const other = await errand.createUser({ balanceUsd: '0' })
  const task = await errand.client.tasks.run({ endpointId: 'hello.greet', params: { name: 'Ada' } })
  expect(task).toMatchObject({ status: 'completed', costUsd: '0.0100', response: { greeting: 'Hello, Ada!' } })
  expect(await errand.client.account.get()).toMatchObject({ balanceUsd: '4.9900' })
  await expect(other.client.tasks.run({ endpointId: 'hello.greet', params: { name: 'Ada' } })).rejects.toMatchObject({
    code: 'INSUFFICIENT_BALANCE',
  })
  await errand.close()
  await errand.close()
  expect(readdirSync(temporary)).toEqual([])
  await expect(fetch(errand.url)).rejects.toThrow('fetch failed')
})

test('advancing the clock expires quotes, and moving it back is rejected', async () => {
  const { client, clock } = await start({ config })
  const quote = () => client.quotes.create({ task: { endpointId: 'hello.greet', params: { name: 'Ada' } } })
  const [used, expired] = [await quote(), await quote()]
  const run = (quoteId: string) => client.tasks.run({ endpointId: 'hello.greet', params: { name: 'Ada' }, quoteId })
  expect(await run(used.quoteId)).toMatchObject({ status: 'completed' })
  clock.advance(11 * 60_000)
  await expect(run(expired.quoteId)).rejects.toThrow('expired')
  expect(() => clock.advance(-1)).toThrow('must be 0 or more')
})

test('a scripted model answers tasks and chats, calls tools, and its usage is charged', async () => {
  const model = scriptedModel(
    'One.',
    { toolCalls: [{ name: 'look', arguments: { at: 'x' } }] },
    { text: 'Two.', usage: { promptTokens: 1000, completionTokens: 480 } },
    new Error('overloaded'),
  )
  const tools = {
    look: { inputSchema: z.object({ at: z.string() }), execute: ({ at }: { at: string }) => ({ saw: at }) },
  }
  const write = { description: 'Writes.', priceUsd: '0.0200', params: z.object({}), prompt: () => 'Write.' }
  const pricing = { inputPer1kUsd: '0.001', outputPer1kUsd: '0.002' }
  const { client } = await start({
    config: { agents: [{ kind: 'model', id: 'writer', name: 'Writer', model, tools, pricing, endpoints: { write } }] },
  })
  expect(await client.tasks.run({ endpointId: 'writer.write', params: {} })).toMatchObject({
    response: { text: 'One.' },
  })
  const { sessionId } = await client.sessions.create({ agentId: 'writer' })
  const events: ChatEvent[] = []
  for await (const event of client.chat.stream({ sessionId, message: 'Hi' })) events.push(event)
  expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result' }))
  // 1,100 prompt tokens and 500 completion tokens.
  expect(events.at(-1)).toMatchObject({ type: 'done', costUsd: '0.0021' })
  expect(model.calls).toHaveLength(3)
  expect(JSON.stringify(model.calls[2]?.prompt)).toContain('"saw":"x"')
  const failed = await client.tasks.run({ endpointId: 'writer.write', params: {} })
  expect(failed).toMatchObject({ status: 'failed', refundedUsd: '0.0200' })
})

test('webhooks reach a receiver on this machine', async () => {
  const { client } = await start({ config })
  let body = ''
  const receiver = createServer((request, response) => {
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => response.end())
  })
  await once(receiver.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void receiver.close())
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  await client.webhooks.create({ url, types: ['task.completed'] })
  await client.tasks.run({ endpointId: 'hello.greet', params: { name: 'Ada' } })
  await until('the event arrives', 20_000, () => body.includes('task.completed'))
})

test('rejects an invalid balance and leaves no files behind', async () => {
  for (const balanceUsd of ['5.00001', '-1', 'five']) {
    await expect(startTestErrand({ config, balanceUsd })).rejects.toThrow('balanceUsd')
  }
  expect(readdirSync(temporary)).toEqual([])
})
