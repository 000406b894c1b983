import type { Catalogue } from '../../agents/config/catalogue.ts'
import type { ChatTurns } from '../../chat/chat-turns.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { SessionParts } from '../../sessions/session-operations.ts'
import type { Store } from '../../store/store.ts'

export type OpenaiParts = {
  catalogue: Catalogue
  chats: ChatTurns
  clock: Clock
  sessions: SessionParts
  /** Streams close after this time if the client reads nothing. */
  stallMs: number
  store: Store
}
