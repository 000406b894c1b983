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

/** Dependencies of the operations, by module; created once per process. */
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
  // Shared by all operations.
  clock: Clock
  store: Store
  /** Undefined if tracing is off. */
  tracing: ServiceTracing | undefined
  writeRate: WriteRate
}

export type Context = {
  services: Services
  /** Null only in a public operation. */
  caller: Caller | null
  request: IncomingMessage
  about: RequestTrace
  setCookies: string[]
  idempotencyKey: string | null
  /** Tool call that a task is created for. */
  call?: ToolCall | undefined
  /** Rate window as of the admission. If it stays null, the response's headers read it again. */
  rate: RateState | null
  /** How to end a stream that is not read; null if the response cannot be a stream. */
  stream: StreamReader | null
  /** Set for a query in a batch. */
  batch?: Batch | undefined
}

export function pageBytesOf({ batch }: Context): number {
  return batch?.pageBytesMax ?? pageBytesMax
}

export type CallerContext = Context & { caller: Caller }
