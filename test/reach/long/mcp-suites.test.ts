import { execFile } from 'node:child_process'
import { createServer, request as sendRequest } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineConfig, defineEndpoint } from '../../../server/agents/config/define-config.ts'
import { expectClean, moneyOf } from '../../mcp/mcp-calls.ts'
import { unlimited } from '../../runner/task-checks.ts'
import { openResources } from '../../support/resources.ts'
import { startService, type TestService } from '../../support/test-service.ts'
import { installTools } from '../install-tools.ts'

// Third-party MCP clients call our tools, and the protocol's own suite checks our responses.

const suiteMsMax = 240_000
const baseline = fileURLToPath(new URL('../tools/mcp/conformance-baseline.yml', import.meta.url))
const run = promisify(execFile)
const priceUsd = '0.0100'

const image = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' }
const resource = { type: 'resource', resource: { uri: 'test://one', mimeType: 'text/plain', text: 'One.' } }
const contentEndpoint = (content: object[]) =>
  defineEndpoint({ description: 'Returns content.', priceUsd, params: {}, run: () => ({ content }) })

/** The suite calls tools by these names. */
const config = defineConfig({
  agents: [
    {
      kind: 'code',
      id: 'test',
      name: 'Test',
      endpoints: {
        simple_text: defineEndpoint({
          description: 'Answers a text.',
          priceUsd,
          params: {},
          run: () => 'simple',
        }),
        error_handling: defineEndpoint({
          description: 'Fails.',
          priceUsd,
          params: {},
          run: () => {
            throw new Error('told to')
          },
        }),
        image_content: contentEndpoint([image]),
        audio_content: contentEndpoint([{ type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' }]),
        embedded_resource: contentEndpoint([resource]),
        multiple_content_types: contentEndpoint([{ type: 'text', text: 'All of them:' }, image, resource]),
        tool_with_progress: defineEndpoint({
          description: 'Tells how far it has come.',
          priceUsd,
          params: {},
          run: async ({ progress }) => {
            for (const fraction of [0, 0.5, 1]) {
              progress({ fraction })
              // The suite requires this pause.
              await new Promise((resolve) => setTimeout(resolve, 50))
            }
            return {}
          },
        }),
        sum: defineEndpoint({
          description: 'Adds two numbers.',
          priceUsd,
          params: z.object({ a: z.number(), b: z.number() }),
          run: ({ params }) => ({ sum: params.a + params.b }),
        }),
      },
    },
    {
      kind: 'code',
      id: 'json',
      name: 'JSON',
      endpoints: {
        schema_2020_12_tool: {
          description: 'Has a schema with definitions.',
          priceUsd,
          params: {
            $schema: 'https://json-schema.org/draft/2020-12/schema',
            type: 'object',
            $defs: {
              address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
            },
            properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
            additionalProperties: false,
          },
          run: () => ({}),
        },
      },
    },
  ],
})

async function startWorld() {
  const service = await startService({ config, limits: { ...unlimited } })
  const { key } = await service.createPerson({ balanceUsd: '1.0000' })
  return { service, key, bin: join(await installTools('mcp'), '.bin') }
}

/** Adds the key, because the suite sends none. Like a real client, it sends the key to no other host. */
async function startProxy(service: TestService, key: string) {
  const { hostname, port } = new URL(service.url)
  const server = createServer((asked, response) => {
    const { headers, method, url: path } = asked
    const isOwn = headers.host === own
    const sent = isOwn ? { ...headers, authorization: `Bearer ${key}` } : headers
    const onward = sendRequest({ hostname, port, method, path, headers: sent }, (answer) => {
      response.writeHead(answer.statusCode!, answer.headers)
      answer.pipe(response)
    })
    response.on('close', () => onward.destroy())
    onward.on('error', () => response.destroy())
    asked.pipe(onward)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  openResources.add('a proxy')
  const own = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    openResources.delete('a proxy')
  }
  return { url: `http://${own}/mcp`, stop }
}

test("passes the protocol's conformance suite, except for the known failures", { timeout: suiteMsMax }, async () => {
  const { bin, key, service } = await startWorld()
  const proxy = await startProxy(service, key)
  const args = ['server', '--url', proxy.url, '--suite', 'all', '--expected-failures', baseline]
  const { stdout } = await run(join(bin, 'conformance'), args, { timeout: suiteMsMax }).catch(
    (failed: { stdout: string; stderr: string }) => {
      throw new Error(`${failed.stdout}\n${failed.stderr}`)
    },
  )
  expect(stdout).toContain('Baseline check passed')
  await expectClean(service)
  await proxy.stop()
  await service.stop()
})

test('the MCP inspector lists the tools on the command line and calls one', { timeout: suiteMsMax }, async () => {
  const { bin, key, service } = await startWorld()
  const inspect = async (...args: string[]) => {
    const server = ['--cli', `${service.url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${key}`]
    const { stdout } = await run(join(bin, 'mcp-inspector'), [...server, ...args], { timeout: suiteMsMax })
    return JSON.parse(stdout)
  }
  const { tools } = await inspect('--method', 'tools/list')
  expect(tools.map(({ name }: { name: string }) => name)).toContain('test_sum')
  const call = ['--method', 'tools/call', '--tool-name', 'test_sum', '--tool-arg', 'a=2', 'b=40']
  expect(await inspect(...call)).toMatchObject({ structuredContent: { sum: 42 }, _meta: { costUsd: '0.0100' } })
  expect(await moneyOf(service, key)).toEqual([['task_charge', '-0.0100']])
  await service.stop()
})

test(
  'an SDK of the current revision connects without a handshake and calls tools',
  { timeout: suiteMsMax },
  async () => {
    const { bin, key, service } = await startWorld()
    const module = join(bin, '../@modelcontextprotocol/client/dist/index.mjs')
    const { Client, StreamableHTTPClientTransport } = await import(pathToFileURL(module).href)
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
    const requestInit = { headers: { Authorization: `Bearer ${key}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', service.url), { requestInit }))
    expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
    const { tools } = await client.listTools()
    expect(tools).toHaveLength(9)
    expect(await client.callTool({ name: 'test_sum', arguments: { a: 2, b: 40 } })).toMatchObject({
      structuredContent: { sum: 42 },
    })
    const text = await client.callTool({ name: 'test_simple_text', arguments: {} })
    expect(text.content).toEqual([{ type: 'text', text: 'simple' }])
    expect(text).not.toHaveProperty('structuredContent')
    expect(await client.callTool({ name: 'test_error_handling', arguments: {} })).toMatchObject({ isError: true })
    await expect(client.callTool({ name: 'test_none', arguments: {} })).rejects.toThrow('Unknown tool')
    await client.close()
    await service.stop()
  },
)
