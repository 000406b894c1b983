import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Catalogue } from '../../../../server/agents/config/catalogue.ts'
import { CreditWindow } from '../../../../server/agents/run/credit-window.ts'
import { executeChat } from '../../../../server/agents/run/execute-chat.ts'
import { executeTask } from '../../../../server/agents/run/execute-task.ts'
import { ConnectorBounds } from '../../../../server/connectors/connector-bounds.ts'
import {
  ConnectorError,
  ConnectorsUnavailableError,
  type ConnectorSpec,
} from '../../../../server/connectors/connector-spec.ts'
import { RemoteConnectors } from '../../../../server/connectors/thread/remote-connectors.ts'
import {
  noConnectors,
  noSuchTool,
  type Connect,
  type RunConnectors,
} from '../../../../server/connectors/thread/run-connectors.ts'
import { ConnectorHost } from '../../../../server/connectors/thread/connector-host.ts'
import type { ToConnectors } from '../../../../server/connectors/thread/connector-protocol.ts'
import type { CodeAgentConfig } from '../../../../server/agents/config/define-config.ts'
import { serveConnectors } from '../../../../server/connectors/thread/serve-connectors.ts'
import { fileURLToPath } from 'node:url'
import { mark } from '../../run-agents.ts'
import { expectNoServers } from '../../run-checks.ts'

const rogue = fileURLToPath(new URL('../../run-rogue-server.ts', import.meta.url))
const spec: ConnectorSpec = {
  connectorId: 'con_1',
  userId: 'user_1',
  name: 'Rogue',
  allowedTools: null,
  target: { kind: 'stdio', command: process.execPath, args: [rogue, 'serve', mark], env: {}, cwd: null },
  secrets: [],
}

/** Returns connectors whose connections are served through a message port, as from another thread. */
function start(processesMax = 8) {
  const ends: MessagePort[] = []
  const bounds = new ConnectorBounds({ processesMax, processesPerUserMax: processesMax })
  const remote: RemoteConnectors = new RemoteConnectors(() => {
    const { port1, port2 } = new MessageChannel()
    serveConnectors(port1, { bounds })
    ends.push(port1)
    remote.take(port2)
  })
  const connect = remote.connect.bind(remote)
  const open = (signal = new AbortController().signal) => connect([spec], { reservedNames: [], signal, waitMs: 5000 })
  return { connect, ends, open }
}

test('losing the connector thread fails calls without blaming the connector; the next run works', async () => {
  const { ends, open } = start()
  const run = await open()
  const calls = [run.call('hang'), run.call('hang')].map((call) => call.catch((error: unknown) => error))
  ends[0]!.close()
  for (const error of await Promise.all(calls)) {
    expect(error).toBeInstanceOf(ConnectorsUnavailableError)
    expect(error).toMatchObject({ message: 'The connections to the connectors in this run were lost. Try again.' })
  }
  expect(run.failed.aborted).toBe(true)
  await expectNoServers()
  const again = await open()
  expect(ends).toHaveLength(2)
  expect((await again.call('fail')).text).toBe('The file is not there.')
  expect(again.failed.aborted).toBe(false)
  await again.close()
  await expect(again.call('fail')).rejects.toThrow(
    'The connectors in this run are closed. Call tools before the run ends.',
  )
  await expectNoServers()
  ends[1]!.close()
})

test('a dying server, an unknown tool and a stop each fail calls with their own error', async () => {
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

test('a task whose connectors were lost is interrupted, regardless of what its agent throws', async () => {
  const { connect, ends } = start()
  const catalogue = new Catalogue(
    {
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
    },
    null,
  )
  const request = {
    endpointId: 'code.hang',
    taskId: 'task_1',
    userId: 'user_1',
    params: '{}',
    timeoutMs: 60_000,
    connectors: [spec],
  }
  const { signal } = new AbortController()
  const none = () => {}
  const host = { onForbidCancel: async () => {}, onProgress: none, onWaiting: none }
  const own = { catalogue, request, signal, log: none, ...host }
  expect(await executeTask({ ...own, resultBytesMax: 1000, connect })).toEqual({
    kind: 'interrupted',
    message: 'The connections to the connectors in this run were lost. Try again.',
  })
  await expectNoServers()
})

type Reply = NonNullable<CodeAgentConfig['chat']>['reply']

/** Starts a chat whose agent sends this reply and may call one connector tool. */
function chatWith(reply: Reply, signal: AbortSignal, connect?: Connect) {
  const pricing = { inputPer1kUsd: '0.001', outputPer1kUsd: '0.001' }
  const catalogue = new Catalogue(
    {
      agents: [{ kind: 'code', id: 'code', name: 'Code', chat: { pricing, reply } }],
    },
    null,
  )
  const called: string[] = []
  const tool = { name: 'known', connectorId: 'con_1', connectorName: 'Known', description: '', inputSchema: {} }
  const known: RunConnectors = {
    ...noConnectors,
    tools: [tool],
    call: async (name) => {
      if (name !== 'known') throw noSuchTool(name)
      called.push(name)
      return { content: [], isError: false, text: '' }
    },
  }
  const outcome = executeChat({
    catalogue,
    request: {
      agentId: 'code',
      userId: 'user_1',
      sessionId: 'session_1',
      turnId: 'turn_1',
      message: 'Hello',
      history: [],
      historyTokens: 0,
      room: 1_000_000,
      params: {},
      connectors: [spec],
      rates: catalogue.agent('code')!.chat!.rates,
    },
    signal,
    readOnMs: () => 0,
    log: () => {},
    replyBytesMax: 1000,
    connect: connect ?? (async () => known),
    window: new CreditWindow(),
    askStep: async () => 1000,
    onDirty: () => {},
    onResume: () => {},
    onStillRunning: () => {},
  })
  return { called, outcome }
}

test('calling an unknown tool does not count as connector use, so a failed run is free', async () => {
  const { signal } = new AbortController()
  const wrong = chatWith(async function* ({ connectors }) {
    yield { type: 'text', delta: 'Said.' }
    await connectors.call('unknown')
  }, signal)
  const message = 'No connector in this run has the tool "unknown". Call one of the listed tools.'
  expect(await wrong.outcome).toMatchObject({ kind: 'failed', error: { code: 'AGENT_ERROR', message } })
  expect(await wrong.outcome).not.toHaveProperty('owed')
  const own = chatWith(async function* ({ connectors }) {
    yield { type: 'text', delta: 'Said.' }
    await connectors.call('known')
    throw new Error('After a use.')
  }, signal)
  expect(await own.outcome).toMatchObject({ kind: 'failed', owed: { cause: 'caller' } })
})

test('a chat without free server slots is free and does not start its agent', async () => {
  const { connect, ends } = start(1)
  const { signal } = new AbortController()
  const first = await connect([spec], { reservedNames: [], signal, waitMs: 5000 })
  let isBegun = false
  const reply: Reply = async function* () {
    isBegun = true
    yield { type: 'text', delta: 'Said.' }
  }
  const { outcome } = chatWith(reply, signal, (specs, options) => connect(specs, { ...options, waitMs: 50 }))
  const message =
    'Connector "Rogue": The server could not be started, because the service runs at most 1 servers per account and 1 in total. Try again later.'
  expect(await outcome).toMatchObject({ kind: 'failed', error: { code: 'AGENT_ERROR', message } })
  expect(await outcome).not.toHaveProperty('owed')
  expect(isBegun).toBe(false)
  await first.close()
  await expectNoServers()
  ends[0]!.close()
})

test('does not blame the caller for lost connectors of a chat, even after a call', async () => {
  const { connect, ends } = start()
  const { signal } = new AbortController()
  const reply: Reply = async function* ({ connectors }) {
    yield { type: 'text', delta: 'Said.' }
    yield { type: 'usage', promptTokens: 10, completionTokens: 1 }
    setTimeout(() => ends[0]!.close(), 50)
    await connectors.call('hang')
  }
  const outcome = await chatWith(reply, signal, connect).outcome
  expect(outcome).toMatchObject({ kind: 'failed', owed: { cause: 'other', used: { promptTokens: 10 } } })
  await expectNoServers()
})

test('a stopped reply calls no more tools, even if calls are free', async () => {
  const stop = new AbortController()
  const { called, outcome } = chatWith(async function* ({ connectors }) {
    yield { type: 'text', delta: 'Said.' }
    await connectors.call('known')
    stop.abort()
    await connectors.call('known')
  }, stop.signal)
  expect(await outcome).toMatchObject({ kind: 'completed' })
  await new Promise(setImmediate)
  expect(called).toEqual(['known'])
})

test('replaces a blocked connector thread; all its connections are lost', { timeout: 120_000 }, async () => {
  const warnings: string[] = []
  const limits = { processesMax: 8, processesPerUserMax: 8 }
  const renew = async () => ({ failure: 'Nobody signed in.' })
  const host = new ConnectorHost({ limits, env: {}, renew, onWarning: (message) => warnings.push(message) })
  const { signal } = new AbortController()
  const missing = { ...spec, target: { ...spec.target, command: '/no/such/command' } } as ConnectorSpec
  expect(await host.probe({ spec: missing }, signal)).toMatchObject({ kind: 'failed' })
  const port = host.connect()
  const closed = new Promise((resolve) => port.once('close', resolve))
  // Keeps the connector thread busy for far too long with a huge number of connectors.
  const specs = Array.from({ length: 300_000 }, () => missing)
  const begunAt = performance.now()
  port.postMessage({ type: 'open', run: 1, specs, reservedNames: [], waitMs: 1000 } satisfies ToConnectors)
  const beside = host.probe({ spec: missing }, signal)
  await closed
  expect(await beside).toMatchObject({ kind: 'interrupted' })
  expect(performance.now() - begunAt).toBeGreaterThan(4000)
  expect(await host.probe({ spec: missing }, signal)).toMatchObject({ kind: 'failed' })
  expect(warnings).toEqual(['the connector thread ended and is being replaced: it did not respond'])
  await host.close()
})
