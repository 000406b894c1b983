import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ConnectorBounds } from '../../../server/connectors/connector-bounds.ts'
import type { ConnectorSpec } from '../../../server/connectors/connector-spec.ts'
import { McpConnection } from '../../../server/connectors/thread/mcp-connection.ts'
import { mark } from '../run-agents.ts'
import { expectNoServers } from '../run-checks.ts'

// Silent servers, with timeouts shorter than the service's own: 15 seconds to connect, 60 for a call.

const bounds = new ConnectorBounds({ processesMax: 64, processesPerUserMax: 8 })
const rogue = fileURLToPath(new URL('../run-rogue-server.ts', import.meta.url))

const connectTo = (mode: string, limits: { openMs?: number; callMs?: number }): Promise<McpConnection> => {
  const args = [rogue, mode, mark]
  const target = { kind: 'stdio', command: process.execPath, args, env: {}, cwd: null } as const
  const spec: ConnectorSpec = {
    connectorId: 'con_1',
    userId: 'user_1',
    name: 'Silent',
    allowedTools: null,
    target,
    secrets: [],
  }
  return McpConnection.open(spec, { signal: new AbortController().signal, bounds, ...limits })
}

const late = (seconds: number) => `Connector "Silent": The server did not respond within ${seconds} seconds. Try again.`

test('gives up on a server that does not answer initialize, and ends it', async () => {
  await expect(connectTo('no-answer', { openMs: 100 })).rejects.toThrow(late(0.1))
  await expectNoServers()
})

test('slow tool listing and slow calls fail with a clear error', async () => {
  const silent = await connectTo('no-tools', { openMs: 3000 })
  await expect(silent.listTools()).rejects.toThrow(late(3))
  await silent.close()
  const slow = await connectTo('serve', { callMs: 100 })
  expect(await slow.listTools()).not.toEqual([])
  await expect(slow.call('hang', {})).rejects.toThrow(late(0.1))
  await slow.close()
  await expectNoServers()
})
