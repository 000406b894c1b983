import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { soon, unlimited } from '../runner/task-checks.ts'
import { startService, type TestService } from '../support/test-service.ts'
import config, { openGate, runsOf } from './mcp-agents.ts'
import { charge, expectClean, moneyOf, refund } from './mcp-calls.ts'

async function startWorld(limits: object = {}) {
  const service = await startService({ config, limits: { ...unlimited, ...limits } })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  return { service, key, client: await connect(service, key) }
}

async function connect(service: TestService, key: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' })
  const requestInit = { headers: { Authorization: `Bearer ${key}` } }
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', service.url), { requestInit })
  await client.connect(transport)
  return client
}

type CallToolResult = z.infer<typeof CallToolResultSchema>

test('completes the handshake, lists endpoints with schemas and prices, and charges a call once', async () => {
  const { client, key, service } = await startWorld()
  expect(client.getServerVersion()).toMatchObject({ name: 'errand' })
  expect(client.getServerCapabilities()).toEqual({
    tools: {},
    tasks: { cancel: {}, requests: { tools: { call: {} } } },
  })
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual([
    'desk_wait',
    'desk_keep',
    'desk_tell',
    'desk_fail',
    'desk_pages',
    'desk_large',
    'desk_value',
    'a_b_a_b_c',
    'a_a_b_c',
  ])
  expect(tools[0]).toEqual({
    name: 'desk_wait',
    title: 'Desk: wait',
    description: 'Waits for its gate.\n\nA call costs 0.0100 USD. Failed calls are refunded.',
    inputSchema: { type: 'object', properties: { gate: { type: 'string' } }, required: ['gate'] },
    execution: { taskSupport: 'optional' },
    _meta: { endpointId: 'desk.wait', priceUsd: '0.0100' },
  })
  expect(tools[4]!.description).toContain('A call costs at most 0.1000 USD, depending on usage: page 0.0020 USD.')
  openGate('listed')
  const result = await client.callTool({ name: 'desk_wait', arguments: { gate: 'listed' } })
  expect(result).toEqual({
    content: [{ type: 'text', text: '{"passed":"listed"}' }],
    structuredContent: { passed: 'listed' },
    _meta: { taskId: expect.stringMatching(/^task_/), costUsd: '0.0100' },
  })
  const { taskId } = result._meta as { taskId: string }
  expect((await service.get(`/api/tasks/${taskId}`, key)).body).toMatchObject({
    endpointId: 'desk.wait',
    status: 'completed',
  })
  expect(await moneyOf(service, key)).toEqual([charge])
  await client.close()
  await service.stop()
})

test('a failed call reports its refund, and a metered call reports its cost', async () => {
  const { client, key, service } = await startWorld()
  const failed = (await client.callTool({ name: 'desk_fail' })) as CallToolResult
  expect(failed).toMatchObject({ isError: true, _meta: { code: 'AGENT_ERROR', refundedUsd: '0.0100' } })
  expect(failed.content).toMatchObject([{ text: expect.stringContaining('The charge of 0.0100 USD was refunded.') }])
  expect(await client.callTool({ name: 'desk_pages', arguments: { pages: 3 } })).toMatchObject({
    structuredContent: { charged: 3 },
    _meta: { costUsd: '0.0060' },
  })
  expect(await moneyOf(service, key)).toEqual([charge, refund, ['task_charge', '-0.1000'], ['adjustment', '0.0940']])
  await expectClean(service)
  await client.close()
  await service.stop()
})

test('task progress arrives as increasing notifications', async () => {
  const { client, service } = await startWorld()
  const told: object[] = []
  const onprogress = (note: { progress: number }) => {
    told.push(note)
    if (note.progress >= 0.5) openGate('told')
  }
  await client.callTool({ name: 'desk_tell', arguments: { gate: 'told' } }, undefined, { onprogress })
  expect(told.at(-1)).toEqual({ progress: 1, total: 1 })
  expect(told).toContainEqual({ progress: 0.5, total: 1, message: 'half' })
  const steps = told.map((one) => (one as { progress: number }).progress)
  expect(steps).toEqual([...new Set(steps)].toSorted((a, b) => a - b))
  await client.close()
  await service.stop()
})

test('a call that its client cancels or lets time out is canceled and refunded', async () => {
  const { client, key, service } = await startWorld()
  const controller = new AbortController()
  const canceled = client.callTool({ name: 'desk_wait', arguments: { gate: 'never' } }, undefined, {
    signal: controller.signal,
  })
  await expect.poll(() => runsOf('never'), soon).toBe(1)
  controller.abort()
  await expect(canceled).rejects.toThrow('Abort')
  await expect.poll(() => moneyOf(service, key), soon).toEqual([charge, refund])
  const late = client.callTool({ name: 'desk_wait', arguments: { gate: 'late' } }, undefined, { timeout: 2000 })
  await expect(late).rejects.toThrow('timed out')
  await expect.poll(() => moneyOf(service, key), soon).toEqual([charge, refund, charge, refund])
  const { body } = await service.get('/api/tasks', key)
  expect(body.tasks).toMatchObject([{ status: 'failed' }, { status: 'failed' }])
  await expectClean(service)
  await client.close()
  await service.stop()
})

test('a client cancels its own call, not one of another client with the same key and id', async () => {
  const { client, key, service } = await startWorld()
  const other = await connect(service, key)
  const controller = new AbortController()
  const { signal } = controller
  // Each of these calls is the first request of its client after the handshake.
  const first = client.callTool({ name: 'desk_wait', arguments: { gate: 'mine' } }, undefined, { signal })
  const second = other.callTool({ name: 'desk_wait', arguments: { gate: 'theirs' } })
  await expect.poll(() => runsOf('mine') + runsOf('theirs'), soon).toBe(2)
  controller.abort()
  await expect(first).rejects.toThrow('Abort')
  await expect.poll(() => moneyOf(service, key), soon).toContainEqual(refund)
  openGate('theirs')
  expect(await second).toMatchObject({ structuredContent: { passed: 'theirs' } })
  expect(await moneyOf(service, key)).toEqual([charge, charge, refund])
  await client.close()
  await other.close()
  await service.stop()
})

test('a string result is plain text, inline and stored; any other value is an object', async () => {
  const { client, key, service } = await startWorld()
  const call = async (args: object) => {
    const result = (await client.callTool({ name: 'desk_value', arguments: { ...args } })) as CallToolResult
    return { text: (result.content[0] as { text: string }).text, structured: result.structuredContent }
  }
  expect(await call({ value: 'Say "hi"\n' })).toEqual({ text: 'Say "hi"\n' })
  expect(await call({ value: null, chars: 20_000 })).toEqual({ text: 'é'.repeat(20_000) })
  expect(await call({ value: [1] })).toEqual({ text: '{"result":[1]}', structured: { result: [1] } })
  expect(await moneyOf(service, key)).toEqual([charge, charge, charge])
  await client.close()
  await service.stop()
})

test('sends a result that is valid protocol content unchanged, and an invalid one as JSON', async () => {
  const { client, service } = await startWorld()
  const call = (value: unknown) => client.callTool({ name: 'desk_value', arguments: { value } })
  const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png', annotations: { audience: ['user'] } }
  const audio = { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }
  const resource = { type: 'resource', resource: { uri: 'test://a', mimeType: 'text/plain', text: 'A' } }
  const blob = { type: 'resource', resource: { uri: 'test://b', blob: 'AAEC' } }
  const content = [{ type: 'text', text: 'All of them:' }, image, audio, resource, blob]
  const sent = await call({ content })
  expect(sent.content).toEqual(content)
  expect(sent).not.toHaveProperty('structuredContent')
  const others = [
    { content: [] },
    { content: 'text' },
    { content: [{ ...image, data: 'not base64' }] },
    { content: [{ type: 'video', data: '', mimeType: 'video/mp4' }] },
    { content: [image], pages: 1 },
  ]
  for (const value of others) {
    expect(await call(value)).toMatchObject({
      content: [{ type: 'text', text: JSON.stringify(value) }],
      structuredContent: value,
    })
  }
  await client.close()
  await service.stop()
})

test('a tool whose endpoint declares its output has a schema, and its results match the schema', async () => {
  const fields = {
    description: 'Returns its params.',
    priceUsd: '0.0100',
    params: {},
    run: ({ params }: any) => params,
  }
  const outputs = {
    report: z.object({ text: z.string(), at: z.iso.datetime().optional() }),
    blocks: z.object({ content: z.array(z.looseObject({ type: z.string() })) }),
    plain: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: { n: { type: 'number' } },
    },
    // The SDK's client cannot compile these schemas, or rejects valid results.
    pattern: z.object({ id: z.string().regex(/^[\w-.]+$/) }),
    tuple: z.object({ pair: z.tuple([z.string(), z.number()]) }),
    any: {},
  }
  const endpoints = Object.fromEntries(Object.entries(outputs).map(([name, output]) => [name, { ...fields, output }]))
  const typed = { kind: 'code' as const, id: 'typed', name: 'Typed', endpoints }
  const service = await startService({ config: { agents: [typed] }, limits: unlimited })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  const client = await connect(service, key)
  const { tools } = await client.listTools()
  expect(tools.filter(({ outputSchema }) => outputSchema).map(({ name }) => name)).toEqual([
    'typed_report',
    'typed_blocks',
    'typed_plain',
  ])
  expect(tools[0]!.outputSchema).toMatchObject({ type: 'object', required: ['text'] })
  // The client rejects a result that does not match the schema of its tool.
  const call = async (name: string, args: Record<string, unknown>) =>
    (await client.callTool({ name: `typed_${name}`, arguments: args })) as CallToolResult
  expect(await call('report', { text: 'Hi.', more: 1 })).toMatchObject({ structuredContent: { text: 'Hi.' } })
  expect(await call('report', { text: 'x'.repeat(100_000) })).toHaveProperty('structuredContent')
  const content = [{ type: 'text', text: 'Hi.' }]
  expect(await call('blocks', { content })).toMatchObject({ content, structuredContent: { content } })
  expect(await call('plain', { n: 1 })).toMatchObject({ structuredContent: { n: 1 } })
  expect(await call('pattern', { id: 'a.b' })).toMatchObject({ structuredContent: { id: 'a.b' } })
  expect(await call('tuple', { pair: ['a', 1] })).toMatchObject({ structuredContent: { pair: ['a', 1] } })
  const failed = await call('report', {})
  expect(failed).toMatchObject({ isError: true, _meta: { code: 'AGENT_OUTPUT_INVALID' } })
  const large = await call('report', { text: 'x'.repeat(300_000) })
  expect(large).toMatchObject({
    isError: true,
    _meta: { costUsd: '0.0100', responseUri: expect.stringMatching(/^http/) },
  })
  await client.close()
  await service.stop()
})

test('rejects a wrong key before the handshake', async () => {
  const { client, service } = await startWorld()
  await expect(connect(service, 'errand_sk_wrong')).rejects.toThrow()
  await client.close()
  await service.stop()
})
