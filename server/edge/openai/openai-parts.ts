import type { Catalogue } from '../../agents/config/catalogue.ts'
import type { ChatTurns } from '../../chat/chat-turns.ts'
import type { Clock } from '../../kernel/clock.ts'
import type { SessionParts } from '../../chat/sessions/session-operations.ts'
import type { Store } from '../../store/store.ts'

export type OpenaiParts = {
  catalogue: Catalogue
  chats: ChatTurns
  clock: Clock
  sessions: SessionParts
  /** A stream closes if its client reads nothing for this long. */
  stallMs: number
  store: Store
}
