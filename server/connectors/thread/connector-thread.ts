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

// Entry point of the connector thread. It owns the connections of all runs and parses the responses of users' servers.
// Parsing therefore delays neither agents nor the service, and limits across a user's concurrent runs are enforced in
// one place.

const host = must(parentPort, 'this file runs in a worker thread')
const { limits, pulse } = workerData as ConnectorThreadData
const bounds = new ConnectorBounds(limits)
const beats = new Int32Array(pulse)

yieldToService()
// The event parser creates an error for each invalid line. Stack traces, which nothing reads, would take most of its
// time.
Error.stackTraceLimit = 0

// Uncaught errors from the MCP library on one connection must not end the other connections. Report only the name,
// because the message may contain a user's data.
const tell = (error: unknown) => {
  const name = error instanceof Error ? error.name : typeof error
  host.postMessage({ type: 'uncaught', name } satisfies FromConnectorThread)
}
process.on('uncaughtException', tell)
process.on('unhandledRejection', tell)

// Load the slowest module before the first heartbeat, because the host waits longer for the first one than for later
// ones.
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
