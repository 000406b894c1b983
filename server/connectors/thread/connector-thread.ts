import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../kernel/assert.ts'
import { yieldToService } from '../../kernel/thread-priority.ts'
import { ConnectorBounds } from '../connector-bounds.ts'
import type { RenewToken, TokenResult } from '../connector-spec.ts'
import {
  beatMs,
  type ConnectorThreadData,
  type FromConnectorThread,
  type ToConnectorThread,
} from './connector-protocol.ts'
import { serveConnectors } from './serve-connectors.ts'

// The entry of the thread of connectors: it holds the connections of all runs, and reads what users' servers answer. So
// that holds up neither an agent nor the service, and what users have at once is counted in one place.

const host = must(parentPort, 'this runs as a thread')
const { limits, pulse } = workerData as ConnectorThreadData
const bounds = new ConnectorBounds(limits)
const beats = new Int32Array(pulse)

yieldToService()
// The parser of events makes an error for each line that is none; its stack, which nobody reads, takes most of the time.
Error.stackTraceLimit = 0

// What the protocol's library leaves behind of one connection must not take the others down. Its text may be a user's.
const tell = (error: unknown) => {
  const name = error instanceof Error ? error.name : typeof error
  host.postMessage({ type: 'uncaught', name } satisfies FromConnectorThread)
}
process.on('uncaughtException', tell)
process.on('unhandledRejection', tell)

// What takes longest to load comes before the first beat, for which the host waits longer.
await import('@ai-sdk/mcp')
Atomics.add(beats, 0, 1)
setInterval(() => Atomics.add(beats, 0, 1), beatMs)

const asked = new Map<number, (result: TokenResult) => void>()
let lastRequest = 0
const renew: RenewToken = (of) =>
  new Promise((resolve) => {
    asked.set(++lastRequest, resolve)
    host.postMessage({ type: 'renew', request: lastRequest, of } satisfies FromConnectorThread)
  })

host.on('message', (message: ToConnectorThread) => {
  if (message.type === 'port') return serveConnectors(message.port, { bounds, renew })
  asked.get(message.request)?.(message.result)
  asked.delete(message.request)
})
