import type { MessagePort } from 'node:worker_threads'
import type { ConnectorTool, ToolAnswer } from '../../agents/config/define-config.ts'
import type { RunOutcome } from '../../agents/run/run-outcome.ts'
import type { ProcessLimits } from '../connector-bounds.ts'
import type { ConnectorSpec, RenewToken, TokenResult } from '../connector-spec.ts'

// The messages between an agent thread, or the thread that serves, and the thread of connectors, over a port of their
// own. When either end of the port is gone, so are the runs that went through it.

/** `run` and `call` are numbers of the sender's. */
export type ToConnectors =
  | { type: 'open'; run: number; specs: readonly ConnectorSpec[]; reservedNames: readonly string[]; waitMs: number }
  /** `args` is JSON, which leaves out what an agent passes and no server could be sent. */
  | { type: 'call'; run: number; call: number; name: string; args: string }
  | { type: 'abort'; run: number }
  | { type: 'close'; run: number }
  /** Asks a connector's server for its tools; the port is for nothing else. */
  | { type: 'probe'; spec: ConnectorSpec }

/** An error: a ConnectorError, a ConnectorsUnavailableError, or any other. */
export type Failure = { message: string; kind: 'connector' | 'unavailable' | 'other' }

export type FromConnectors =
  | { type: 'opened'; run: number; tools: readonly ConnectorTool[] }
  | { type: 'refused'; run: number; failure: Failure }
  | { type: 'answered'; run: number; call: number; answer: ToolAnswer }
  | { type: 'failed'; run: number; call: number; failure: Failure }
  | { type: 'probed'; outcome: RunOutcome }

/** From the host to the thread, and what the thread tells it. */
export type ToConnectorThread =
  | { type: 'port'; port: MessagePort }
  | { type: 'renewed'; request: number; result: TokenResult }
export type FromConnectorThread =
  | { type: 'uncaught'; name: string }
  /** Asks for another access token. `request` is a number of the thread's. */
  | { type: 'renew'; request: number; of: Parameters<RenewToken>[0] }
export type ConnectorThreadData = {
  limits: ProcessLimits
  /** Shared memory: how often the thread has come round its event loop, since one that is blocked cannot say so. */
  pulse: SharedArrayBuffer
}

export const beatMs = 200
