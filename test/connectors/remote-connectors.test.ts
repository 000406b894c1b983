import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Catalogue } from '../../server/agents/catalogue.ts'
import { executeTask } from '../../server/agents/execute-task.ts'
import { ConnectorBounds } from '../../server/connectors/connector-bounds.ts'
import {
  ConnectorError,
  ConnectorsUnavailableError,
  type ConnectorSpec,
} from '../../server/connectors/connector-spec.ts'
import { RemoteConnectors } from '../../server/connectors/remote-connectors.ts'
import { serveConnectors } from '../../server/connectors/serve-connectors.ts'
import { fileURLToPath } from 'node:url'
import { mark } from './run-agents.ts'
import { expectNoServers } from './run-checks.ts'

const rogue = fileURLToPath(new URL('./run-rogue-server.ts', import.meta.url))
const spec: ConnectorSpec = {
  connectorId: 'con_1',
  userId: 'user_1',
  name: 'Rogue',
  allowedTools: null,
  target: { kind: 'stdio', command: process.execPath, args: [rogue, 'serve', mark], env: {}, cwd: null },
  secrets: [],
}

/** Runs whose connectors are served as another thread serves them. */
function start() {
  const ends: MessagePort[] = []
  const bounds = new ConnectorBounds({ processesMax: 8, processesPerUserMax: 8 })
  const remote: RemoteConnectors = new RemoteConnectors(() => {
    const { port1, port2 } = new MessageChannel()
    serveConnectors(port1, bounds)
    ends.push(port1)
    remote.take(port2)
  })
  const connect = remote.connect.bind(remote)
  const open = (signal = new AbortController().signal) => connect([spec], { reservedNames: [], signal, waitMs: 5000 })
  return { connect, ends, open }
}

test('when the thread of connectors is gone, its calls fail by no fault of the connector, and the next run has another', async () => {
  const { ends, open } = start()
  const run = await open()
  const calls = [run.call('hang'), run.call('hang')].map((call) => call.catch((error: unknown) => error))
  ends[0]!.close()
  for (const error of await Promise.all(calls)) {
    expect(error).toBeInstanceOf(ConnectorsUnavailableError)
    expect(error).toMatchObject({ message: 'The connections to the connectors of this run were lost; try again.' })
  }
  expect(run.failed.aborted).toBe(true)
  await expectNoServers()
  const again = await open()
  expect(ends).toHaveLength(2)
  expect((await again.call('fail')).text).toBe('The file is not there.')
  expect(again.failed.aborted).toBe(false)
  await again.close()
  await expect(again.call('fail')).rejects.toThrow('The connectors of this run are closed.')
  await expectNoServers()
  ends[1]!.close()
})

test('a server that dies fails its calls by a ConnectorError, a tool that is not there does too, and a stop ends both', async () => {
  const { ends, open } = start()
  const run = await open()
  await expect(run.call('no-such-tool')).rejects.toBeInstanceOf(ConnectorError)
  expect(run.failed.aborted).toBe(false)
  await expect(run.call('exit')).rejects.toBeInstanceOf(ConnectorError)
  expect(run.failed.reason).toBeInstanceOf(ConnectorError)
  await run.close()
  const stop = new AbortController()
  const stopped = await open(stop.signal)
  const call = stopped.call('hang')
  stop.abort()
  await expect(call).rejects.toThrow('The run was stopped.')
  await stopped.close()
  await expectNoServers()
  ends[0]!.close()
})

test('a task whose connectors were lost is interrupted, whatever its agent makes of it', async () => {
  const { connect, ends } = start()
  const catalogue = new Catalogue({
    agents: [
      {
        kind: 'code',
        id: 'code',
        name: 'Code',
        endpoints: {
          hang: {
            description: 'Waits for an answer.',
            priceUsd: '0.0100',
            params: z.object({}),
            run: async ({ connectors }) => {
              setTimeout(() => ends[0]!.close(), 50)
              return await connectors.call('hang').catch(() => Promise.reject(new Error('My own words.')))
            },
          },
        },
      },
    ],
  })
  const request = { endpointId: 'code.hang', taskId: 'task_1', userId: 'user_1', params: '{}', connectors: [spec] }
  const { signal } = new AbortController()
  expect(await executeTask({ catalogue, request, signal, log: () => {}, resultBytesMax: 1000, connect })).toEqual({
    kind: 'interrupted',
    message: 'The connections to the connectors of this run were lost; try again.',
  })
  await expectNoServers()
})
