import type { Span } from '@opentelemetry/api'
import type { Chat } from '../agents/config/catalogue.ts'
import type { ChatRequest } from '../agents/run/chat-messages.ts'
import type { AgentHost } from '../agents/threads/agent-port.ts'
import type { Clock } from '../kernel/clock.ts'
import type { FairPlaces } from '../kernel/fair-places.ts'
import type { Logger } from '../kernel/logger.ts'
import type { Meter } from '../kernel/meter.ts'
import type { Units } from '../kernel/money.ts'
import type { MessagePart } from '../store/sessions/session-types.ts'
import type { Store } from '../store/store.ts'
import type { ServiceTracing } from '../kernel/tracing/service-tracing.ts'

export type ChatTurnParts = {
  agents: AgentHost
  clock: Clock
  log: Logger
  meter: Meter
  /** Memory in bytes, shared by all replies in progress. */
  replyRoom: FairPlaces
  store: Store
  tracing: ServiceTracing | undefined
  turnTimeoutMs: number
}

export type TurnStart = {
  generation: number
  request: ChatRequest
  parts: readonly MessagePart[] | null
  hidesReasoning: boolean
  isKept: boolean
  /** The session's last turn, which this turn replaces in the history. */
  replaces: string | null
  requestId: string
  span: Span | undefined
  models: Chat['models']
  held: Units
  onFirstStep: (promptTokensMax: number) => void
  onSettled: () => void
}
