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
  /** Memory that all replies in progress share, in bytes. */
  replyRoom: FairPlaces
  store: Store
  tracing: ServiceTracing | undefined
  turnTimeoutMs: number
}

export type TurnStart = {
  /** Generation of the catalogue that the agent was read from. */
  generation: number
  request: ChatRequest
  parts: readonly MessagePart[] | null
  /** Whether the provider bills reasoning that is not shown. */
  hidesReasoning: boolean
  /** Whether the session stores the exchange. */
  isKept: boolean
  /** The session's last turn, which this turn replaces in the history. */
  replaces: string | null
  /** Id of the HTTP request. */
  requestId: string
  span: Span | undefined
  /** Models that may answer, with the rates that their providers charge the operator. */
  models: Chat['models']
  /** Amount that the account holds for the turn. */
  held: Units
  /** Receives the maximum number of prompt tokens of the first model call. */
  onFirstStep: (promptTokensMax: number) => void
  onSettled: () => void
}
