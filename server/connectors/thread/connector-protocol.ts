import type { MessagePort } from 'node:worker_threads'
import type { ConnectorTool, ToolAnswer } from '../tool-types.ts'
import type { ProcessLimits } from '../connector-bounds.ts'
import type { ConnectorSpec, ProbeOutcome, ProbeRequest, RenewToken, TokenResult } from '../connector-spec.ts'

// Messages between the connector thread and an agent thread or the main thread, over a dedicated port. When either end
// closes, the port's runs end.

/** `run` and `call` are numbers assigned by the sender. */
export type ToConnectors =
  | { type: 'open'; run: number; specs: readonly ConnectorSpec[]; reservedNames: readonly string[]; waitMs: number }
  /** `args` is JSON, which drops values that cannot be sent to a server. */
  | { type: 'call'; run: number; call: number; name: string; args: string }
  | { type: 'abort'; run: number }
  | { type: 'close'; run: number }
  /** Lists or calls a server's tools outside of runs. Each probe has its own message port. */
  | { type: 'probe'; request: ProbeRequest }

/** A serialized ConnectorError, ConnectorsUnavailableError or other error. */
export type Failure = { message: string; kind: 'connector' | 'unavailable' | 'other' }

export type FromConnectors =
  | { type: 'opened'; run: number; tools: readonly ConnectorTool[] }
  | { type: 'refused'; run: number; failure: Failure }
  | { type: 'answered'; run: number; call: number; answer: ToolAnswer }
  | { type: 'failed'; run: number; call: number; failure: Failure }
  | { type: 'probed'; outcome: ProbeOutcome }

export type ToConnectorThread =
  | { type: 'port'; port: MessagePort }
  | { type: 'renewed'; request: number; result: TokenResult }
export type FromConnectorThread =
  | { type: 'uncaught'; name: string }
  /** Requests a new access token. The thread assigns the number `request`. */
  | { type: 'renew'; request: number; of: Parameters<RenewToken>[0] }
export type ConnectorThreadData = {
  limits: ProcessLimits
  /** Heartbeat counter in shared memory, because a thread with a blocked event loop cannot send messages. */
  pulse: SharedArrayBuffer
}

export const beatMs = 200
