import type { IncomingMessage } from 'node:http'
import type { AdminParts } from '../admin/system-state.ts'
import type { Catalogue } from '../agents/config/catalogue.ts'
import type { Caller } from '../auth/caller.ts'
import type { LoginAccess } from '../auth/logins/log-in.ts'
import type { SpendDays } from '../billing/spend-days.ts'
import type { StreamReader } from '../chat/chat-stream.ts'
import type { ChatTurns } from '../chat/chat-turns.ts'
import type { ConnectorParts } from '../connectors/manage-connectors.ts'
import type { Clock } from '../kernel/clock.ts'
import type { PaymentParts } from '../payments/manage-topups.ts'
import type { SessionParts } from '../sessions/session-operations.ts'
import { pageBytesMax } from '../store/byte-bounds.ts'
import type { RateState } from '../store/records.ts'
import type { Store } from '../store/store.ts'
import type { ToolCall } from '../store/requests/wire-requests.ts'
import type { CreateTaskParts } from '../tasks/create-task.ts'
import type { CancelTaskParts } from '../tasks/cancel-task.ts'
import type { WebhookParts } from '../webhooks/manage-webhooks.ts'
import type { RequestTrace } from '../tracing/request-trace.ts'
import type { ServiceTracing } from '../tracing/service-tracing.ts'
import type { Batch } from './batch.ts'
import type { WriteRate } from './write-rate.ts'

/** What the operations work with, by the module that they are of; made once per process. */
export type Services = {
  account: { bodyBytesMax: number; clock: Clock; spendDays: SpendDays; store: Store }
  admin: AdminParts
  catalogue: Catalogue
  chats: ChatTurns
  connectors: ConnectorParts
  payments: PaymentParts
  people: LoginAccess
  sessions: SessionParts
  tasks: CreateTaskParts & CancelTaskParts
  webhooks: WebhookParts
  // Of every operation.
  clock: Clock
  store: Store
  /** Undefined when nobody traces. */
  tracing: ServiceTracing | undefined
  writeRate: WriteRate
}

/** What one request carries into a procedure. */
export type Context = {
  services: Services
  /** Null only in an operation that is public. */
  caller: Caller | null
  request: IncomingMessage
  about: RequestTrace
  /** Values of Set-Cookie for the answer. */
  setCookies: string[]
  idempotencyKey: string | null
  /** The call of a tool that a task is created for. */
  call?: ToolCall | undefined
  /** The rate window as an admission saw it; the response's headers are read anew when it stays null. */
  rate: RateState | null
  /** How a stream that is not read ends; null when the answer cannot be a stream. */
  stream: StreamReader | null
  /** Of a query that is not made alone. */
  batch?: Batch | undefined
}

/** How large a page of a list may be. */
export function pageBytesOf({ batch }: Context): number {
  return batch?.pageBytesMax ?? pageBytesMax
}

/** Of an operation that needs authentication. */
export type CallerContext = Context & { caller: Caller }
