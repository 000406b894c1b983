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

/** Parts of the context that are the same for all requests of a process. */
export type Shared = {
  clock: Clock
  store: Pick<Store, 'readRate'>
  writeRate: WriteRate
  /** Frees the request's gate slot and body memory. */
  release: (request: IncomingMessage) => void
  /** Waits for an event-loop tick in which to do a large piece of work for the owner. */
  turn: (request: IncomingMessage, owner: string | null) => Promise<void>
}

/**
 * The client of a stream. Call `cutOff` to disconnect it if it has read nothing for `stallMs`. `left` aborts if the
 * client disconnects before the end.
 */
export type StreamReader = { stallMs: number; cutOff: () => void; left: AbortSignal }

export type Context = {
  shared: Shared
  /** Null only in a public operation. */
  caller: AnyCaller | null
  request: IncomingMessage
  about: RequestTrace
  setCookies: string[]
  idempotencyKey: string | null
  /** The MCP tool call for which this request creates a task. */
  call?: ToolCall | undefined
  /** State of the rate window at admission. If null, the state is read when the response headers are written. */
  rate: RateState | null
  /** The stream's client; null if the response cannot be a stream. */
  stream: StreamReader | null
  /** Set for a query in a batch. */
  batch?: Batch | undefined
}

export function pageBytesOf({ batch }: Pick<Context, 'batch'>): number {
  return batch?.pageBytesMax ?? pageBytesMax
}

export type CallerContext = Omit<Context, 'caller'> & { caller: Caller }
export type PlatformContext = Omit<Context, 'caller'> & { caller: AnyCaller }
