import { expect, expectTypeOf, test } from 'vitest'
import { createClient } from '../../client/client.ts'
import { connectorConfig } from '../api/connector-calls.ts'
import { closedUrl, startStubMcpServer } from '../api/stub-mcp-server.ts'
import { startService } from '../support/test-service.ts'

const auth = { type: 'bearer', token: 'a-token-of-the-user' } as const

test('every connector method returns the same as REST', async () => {
  const service = await startService({ config: connectorConfig, privateHosts: ['127.0.0.1'] })
  const server = await startStubMcpServer({ tools: [{ name: 'look', inputSchema: { type: 'object' } }] })
  const { key } = await service.createPerson()
  const { connectors } = createClient({ baseUrl: service.url, apiKey: key })
  const rest = async (path: string) => (await service.get(`/api/${path}`, key)).body

  const created = await connectors.create({ name: 'Docs', url: server.url, auth })
  const { id: connectorId } = created
  expect(created).toEqual(await rest(`connectors/${connectorId}`))
  expect(await connectors.get({ connectorId })).toEqual(created)
  await connectors.create({ name: 'Other', server: 'plain' })
  expect(await connectors.list()).toEqual(await rest('connectors'))
  expect(await connectors.list({ limit: 1, offset: 1 })).toMatchObject({ connectors: [created], total: 2 })
  expect(await connectors.servers()).toEqual(await rest('connector-servers'))

  const tested = await connectors.test({ connectorId })
  expect(tested).toMatchObject({ status: 'ok' })
  const called = await connectors.callTool({ connectorId, tool: 'look', arguments: { at: 'x' } })
  expect(called).toEqual({ content: [{ type: 'text', text: '{"at":"x"}' }], isError: false })
  const updated = await connectors.update({ connectorId, allowedTools: [] })
  expect(updated).toEqual({ ...tested, allowedTools: [], updatedAt: expect.any(String) })
  const { tools, total } = await connectors.tools({ connectorId })
  expect([tools.map(({ isAllowed, name }) => [name, isAllowed]), total]).toEqual([[['look', false]], 1])
  expect(await rest(`connectors/${connectorId}/tools`)).toEqual({ tools, total })
  expect(await connectors.delete({ connectorId })).toEqual({ message: 'Connector deleted' })
  await expect(connectors.get({ connectorId })).rejects.toMatchObject({ code: 'NOT_FOUND', status: 404 })
  await service.stop()
  await server.stop()
})

test('a task shows the connectors it was created with', async () => {
  const service = await startService({ config: connectorConfig })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { id } = await client.connectors.create({ name: 'Docs', url: 'https://mcp.example.com/mcp', auth })
  const { taskId } = await client.tasks.create({ endpointId: 'mute.run', params: {}, connectorIds: [id] })
  const { connectorIds } = await client.tasks.get({ taskId })
  expectTypeOf(connectorIds).toEqualTypeOf<string[] | undefined>()
  expect(connectorIds).toEqual([id])
  await service.stop()
})

test('CONNECTOR_FAILED for an unreachable server, CONNECTOR_NOT_FOUND for a deleted connector', async () => {
  const service = await startService({ config: connectorConfig, privateHosts: ['127.0.0.1'] })
  const { key } = await service.createPerson()
  const client = createClient({ baseUrl: service.url, apiKey: key })
  const { id: connectorId } = await client.connectors.create({ name: 'Docs', url: await closedUrl(), auth })
  const { statusMessage } = await client.connectors.test({ connectorId })
  const failed = { code: 'CONNECTOR_FAILED', status: 424, message: statusMessage }
  await expect(client.connectors.tools({ connectorId })).rejects.toMatchObject(failed)
  await client.connectors.delete({ connectorId })
  const missing = {
    code: 'CONNECTOR_NOT_FOUND',
    status: 404,
    message: `Connector ${connectorId} not found. GET /api/connectors lists your connectors.`,
  }
  const connectorIds = [connectorId]
  const task = client.tasks.create({ endpointId: 'mute.run', params: {}, connectorIds })
  await expect(task).rejects.toMatchObject(missing)
  await expect(client.sessions.create({ agentId: 'one', connectorIds })).rejects.toMatchObject(missing)
  await service.stop()
})
