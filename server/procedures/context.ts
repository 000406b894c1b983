import type { RateState } from '../store/limits/limit-types.ts'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../kernel/clock.ts'
import { pageBytesMax } from '../store/byte-bounds.ts'
import type { ToolCall } from '../store/requests/wire-request-types.ts'
import type { Store } from '../store/store.ts'
import type { RequestTrace } from '../kernel/tracing/request-trace.ts'
import type { Batch } from './batch.ts'
import type { AnyCaller, Caller } from './caller.ts'
import type { WriteRate } from './write-rate.ts'

export type Shared = {
  clock: Clock
  store: Pick<Store, 'readRate'>
  writeRate: WriteRate
  /** Frees the request's gate slot and body memory. */
  release: (request: IncomingMessage) => void
  turn: (request: IncomingMessage, owner: string | null) => Promise<void>
}

/**
 * The client reading a stream. `cutOff` disconnects it, for example if it reads nothing for `stallMs`. `left` aborts if
 * the client disconnects before the end.
 */
export type StreamReader = { stallMs: number; cutOff: () => void; left: AbortSignal }

export type Context = {
  shared: Shared
  caller: AnyCaller | null
  request: IncomingMessage
  about: RequestTrace
  setCookies: string[]
  idempotencyKey: string | null
  /** The MCP tool call for which this request creates a task. */
  call?: ToolCall | undefined
  /**
   * State of the rate window at admission. If null, the response headers show the state at the time of the response.
   */
  rate: RateState | null
  /** Null if the response cannot be a stream. */
  stream: StreamReader | null
  batch?: Batch | undefined
}

export function pageBytesOf({ batch }: Pick<Context, 'batch'>): number {
  return batch?.pageBytesMax ?? pageBytesMax
}

export type CallerContext = Omit<Context, 'caller'> & { caller: Caller }
export type PlatformContext = Omit<Context, 'caller'> & { caller: AnyCaller }
