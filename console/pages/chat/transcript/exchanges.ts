import type { Message } from '../../../../client/client.ts'
import { storedParts, type ReplyPart } from './live-reply.ts'
import type { Transcript } from './transcript.ts'

export type StoredExchange = {
  turnId: string
  message: Message | undefined
  reply: Message | undefined
  parts: readonly ReplyPart[]
}

/** Caches one exchange object per message, so that React does not rerender unchanged exchanges. */
const made = new WeakMap<Message, StoredExchange>()

export function exchangesOf({ messages }: Transcript): StoredExchange[] {
  const exchanges: StoredExchange[] = []
  for (let index = 0; index < messages.length; index++) {
    const first = messages[index]!
    const second = messages[index + 1]
    const isPair = second?.turnId === first.turnId && second.role === 'assistant'
    const own = made.get(first) ?? makeExchange(first, isPair ? second : undefined)
    made.set(first, own)
    exchanges.push(own)
    if (isPair) index++
  }
  return exchanges
}

function makeExchange(first: Message, second: Message | undefined): StoredExchange {
  const reply = first.role === 'assistant' ? first : second
  return {
    turnId: first.turnId,
    message: first.role === 'user' ? first : undefined,
    reply,
    parts: reply ? storedParts(reply) : [],
  }
}
