import { parentPort, workerData } from 'node:worker_threads'
import { must } from '../../kernel/assert.ts'
import { yieldToService } from '../../kernel/threads/thread-priority.ts'
import { ConnectorBounds } from '../connector-bounds.ts'
import type { RenewToken, TokenResult } from '../connector-spec.ts'
import {
  beatMs,
  type ConnectorThreadData,
  type FromConnectorThread,
  type ToConnectorThread,
} from './connector-protocol.ts'
import { serveConnectors } from './serve-connectors.ts'

// Entry point of the connector thread. It holds the connections of all runs and parses the answers of users' servers.
// Parsing therefore delays neither an agent nor the service, and users' concurrent usage is counted in one place.

const host = must(parentPort, 'this file runs in a worker thread')
const { limits, pulse } = workerData as ConnectorThreadData
const bounds = new ConnectorBounds(limits)
const beats = new Int32Array(pulse)

yieldToService()
// The event parser creates an error for each invalid line. Creating its stack trace, which nothing reads, takes most of
// the time.
Error.stackTraceLimit = 0

// Errors that the protocol's library leaves uncaught on one connection must not take down the others. Only the name is
// reported, because the message may contain a user's data.
const tell = (error: unknown) => {
  const name = error instanceof Error ? error.name : typeof error
  host.postMessage({ type: 'uncaught', name } satisfies FromConnectorThread)
}
process.on('uncaughtException', tell)
process.on('unhandledRejection', tell)

// Load the slowest module before the first beat, because the host waits longer for the first beat than for later ones.
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
