import { fileURLToPath } from 'node:url'
import { rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startEverything } from '../../connectors/run-http-server.ts'
import { ChatReader } from '../../support/chat-reader.ts'
import { ModelProvider, reply } from '../../support/model-provider.ts'
import { runErrand, startProcess, type ServerProcess } from '../../support/test-process.ts'
import { newDataDir } from '../../support/test-service.ts'

const config = fileURLToPath(new URL('../../../examples/quickstart/errand.config.ts', import.meta.url))

/** Overrides the machine's own settings. */
const none = {
  ERRAND_MODEL_BASE_URL: '',
  ERRAND_MODEL_NAME: '',
  ERRAND_MODEL_API_KEY: '',
  OPENAI_API_KEY: '',
  OPENAI_MODEL: '',
  ANTHROPIC_API_KEY: '',
  ANTHROPIC_MODEL: '',
  ERRAND_CONNECTOR_PRIVATE_HOSTS: '',
}

async function createKey(dataDir: string): Promise<string> {
  const email = 'model@example.com'
  await runErrand(['users', 'create', '--email', email, '--data', dataDir])
  await runErrand(['users', 'credit', '--user', email, '--amount-usd', '5', '--data', dataDir])
  const created = await runErrand(['keys', 'create', '--user', email, '--name', 'K', '--json', '--data', dataDir])
  return (JSON.parse(created) as { key: string }).key
}

/** Runs the quickstart in a separate process with that environment; returns an API client. */
async function startQuickstart(env: Record<string, string>) {
  const dataDir = newDataDir()
  const server: ServerProcess = await startProcess({ dataDir, config, env: { ...none, ...env } })
  const key = await createKey(dataDir)
  const call = async (path: string, body?: unknown): Promise<any> => {
    const response = await fetch(server.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return await response.json()
  }
  const stop = async () => {
    expect(await server.end('SIGTERM')).toBe(0)
    rmSync(dataDir, { recursive: true, force: true })
  }
  return { server, key, call, stop }
}

test('ERRAND_MODEL_BASE_URL and ERRAND_MODEL_NAME add an agent with that model and tools', async () => {
  const provider = await ModelProvider.start()
  const { call, key, server, stop } = await startQuickstart({
    ERRAND_MODEL_BASE_URL: `${provider.url}/v1`,
    ERRAND_MODEL_NAME: 'tiny-1',
    ERRAND_MODEL_API_KEY: 'a key of the test',
  })
  const agent = await call('/api/agents/model')
  expect(agent).toMatchObject({ id: 'model', endpoints: [{ id: 'model.draft', priceUsd: '0.0200' }] })

  provider.play(reply({ text: ['Dear Ada, the tea is ready.'] }))
  const params = { brief: 'Tell Ada that the tea is ready.', tone: 'friendly' }
  const { taskId } = await call('/api/tasks', { endpointId: 'model.draft', params })
  const task = await call(`/api/tasks/${taskId}?wait=20`)
  expect(task).toMatchObject({ status: 'completed', response: { text: 'Dear Ada, the tea is ready.' } })
  const [asked] = provider.requests
  expect(asked!.headers.authorization).toBe('Bearer a key of the test')
  expect(asked!.body).toMatchObject({ model: 'tiny-1' })
  expect(asked!.body.messages.at(-1).content).toMatch(/friendly tone.*Tell Ada that the tea is ready\.$/s)

  provider.play(
    reply({ calls: [{ id: 'a', name: 'profile_csv', args: '{"csv":"city,amount\\nBerlin,10\\nParis,4\\n"}' }] }),
    reply({ calls: [{ id: 'b', name: 'summarize_text', args: '{"text":"Tea is good. Tea is hot.","sentences":1}' }] }),
    reply({ text: ['The mean is 7.'] }),
  )
  const { sessionId } = await call('/api/sessions', { agentId: 'model' })
  const body = { sessionId, message: 'What is the mean amount?' }
  const events = await (await ChatReader.open({ url: server.url, key, body })).all()
  expect(events.map(({ type }) => type)).toEqual([
    'tool_call',
    'tool_result',
    'tool_call',
    'tool_result',
    'assistant_delta',
    'done',
  ])
  expect(events[1].toolResult.output).toMatchObject({ rows: 2 })
  expect(JSON.stringify(events[1].toolResult.output)).toMatch(/"mean":7\b/)
  expect(events[3].toolResult.output).toMatchObject({ totals: { sentences: 2 } })
  expect(events.at(-1).usage).toMatchObject({ promptTokens: 300, completionTokens: 60, toolCalls: 2 })
  await stop()
  await provider.stop()
})

test("the quickstart's model uses a tool of a user's connector, charged exactly", async () => {
  const provider = await ModelProvider.start()
  const mcp = await startEverything()
  const { call, key, server, stop } = await startQuickstart({
    ERRAND_MODEL_BASE_URL: `${provider.url}/v1`,
    ERRAND_MODEL_NAME: 'tiny-1',
    ERRAND_CONNECTOR_PRIVATE_HOSTS: mcp.host,
  })
  const { id } = await call('/api/connectors', { name: 'Everything', url: mcp.url })
  expect(await call(`/api/connectors/${id}/test`, {})).toMatchObject({ status: 'ok' })
  const connectorIds = [id]
  const sum = reply({ calls: [{ id: 'a', name: 'get-sum', args: '{"a":2,"b":40}' }] })

  provider.play(sum, reply({ text: ['It is 42.'] }))
  const { taskId } = await call('/api/tasks', {
    endpointId: 'model.draft',
    params: { brief: 'The sum.' },
    connectorIds,
  })
  const task = await call(`/api/tasks/${taskId}?wait=20`)
  expect(task).toMatchObject({ status: 'completed', response: { text: 'It is 42.' }, costUsd: '0.0200' })
  const told = provider.requests.at(-1)!.body.messages.at(-1)
  expect(told).toMatchObject({ role: 'tool', content: 'The sum of 2 and 40 is 42.' })

  provider.play(sum, reply({ text: ['It is 42.'] }))
  const { sessionId } = await call('/api/sessions', { agentId: 'model', connectorIds })
  const events = await (await ChatReader.open({ url: server.url, key, body: { sessionId, message: 'Sum?' } })).all()
  expect(events.map(({ type }) => type)).toEqual(['tool_call', 'tool_result', 'assistant_delta', 'done'])
  // 200 prompt tokens at 0.001 and 40 completion tokens at 0.004 per thousand, and a call at 0.001: 0.00136, of which
  // 0.00006 is carried forward.
  expect(events.at(-1)).toMatchObject({ usage: { toolCalls: 1 }, costUsd: '0.0013' })

  const listed = { endpointId: 'services.call', params: { tool: 'get-sum', arguments: { a: 1, b: 1 } }, connectorIds }
  const direct = await call(`/api/tasks/${(await call('/api/tasks', listed)).taskId}?wait=20`)
  expect(direct).toMatchObject({
    status: 'completed',
    response: { text: 'The sum of 1 and 1 is 2.' },
    costUsd: '0.0050',
  })
  const { transactions } = await call('/api/transactions')
  const amounts = transactions.map(({ amountUsd }: any) => amountUsd)
  expect(amounts).toEqual(['-0.0050', '-0.0013', '-0.0200', '5.0000'])
  await stop()
  await mcp.stop()
  await provider.stop()
})

test.for([
  { env: {}, description: null },
  { env: { OPENAI_API_KEY: 'sk-none' }, description: /with gpt-5-mini\./ },
  { env: { OPENAI_API_KEY: 'sk-none', OPENAI_MODEL: 'gpt-9' }, description: /with gpt-9\./ },
  { env: { ANTHROPIC_API_KEY: 'sk-none' }, description: /with claude-haiku-4-5\./ },
])('the quickstart has a model agent if and only if a provider is configured: $env', async ({ description, env }) => {
  const { call, stop } = await startQuickstart(env)
  const { agents } = await call('/api/agents')
  const models = agents.filter(({ id }: any) => id === 'model')
  if (description === null) expect(models).toEqual([])
  else expect(models).toMatchObject([{ description: expect.stringMatching(description) }])
  expect(agents.map(({ id }: any) => id)).toEqual(expect.arrayContaining(['text', 'data', 'assistant', 'demo']))
  await stop()
})

test('a base URL without a model name is rejected at startup, naming the variable', async () => {
  const dataDir = newDataDir()
  const env = { ...none, ERRAND_MODEL_BASE_URL: 'http://127.0.0.1:9/v1' }
  await expect(startProcess({ dataDir, config, env })).rejects.toThrow(/ERRAND_MODEL_NAME: must name a model/)
  rmSync(dataDir, { recursive: true, force: true })
})
