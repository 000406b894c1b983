import type { Message } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { known, readNew, type Transcript } from './transcript.ts'

// Looks up the outcome of a message in the session's stored messages.

type SentTurn = {
  sessionId: string
  /** Undefined if no response arrived, because only the response contains the turn id. */
  turnId: string | undefined
  message: string | undefined
  total: number
}

export type StoredTurn = {
  turnId: string
  reply: Message | undefined
  page: Transcript
}

/**
 * Minimum wait before a turn counts as not stored. A free chat reserves no money, so the reserved amount does not show
 * whether it is stored yet.
 */
const settleMsMin = 1500
const settleMsMax = 30_000
const pauseMs = { first: 100, most: 1000 }

export async function readStored({
  message,
  sessionId,
  total,
  turnId: ofTurn,
}: SentTurn): Promise<StoredTurn | undefined> {
  const page = await readNew(sessionId)
  const content = message?.toWellFormed()
  const before = known(sessionId)
  const from = before?.from ?? page.from
  const messages = [...(before?.messages ?? []), ...page.messages]
  const own = messages.findLast((stored, index) =>
    ofTurn === undefined
      ? from + index >= total && stored.role === 'user' && stored.content === content
      : stored.turnId === ofTurn,
  )
  if (!own) return undefined
  const { turnId } = own
  return { turnId, reply: messages.find((one) => one.turnId === turnId && one.role === 'assistant'), page }
}

/**
 * Like `readStored`, for a turn whose last event did not arrive. Waits until the turn is stored, or until the service
 * no longer reserves money for a chat.
 */
export async function awaitStored(turn: SentTurn): Promise<StoredTurn | undefined> {
  const startedAt = performance.now()
  for (let pause = pauseMs.first; ; pause = Math.min(pause * 1.5, pauseMs.most)) {
    const { heldUsd } = await client.account.get()
    const stored = await readStored(turn)
    const waitedMs = performance.now() - startedAt
    const isSettled = heldUsd === '0.0000' && waitedMs > settleMsMin
    if (stored || isSettled || waitedMs > settleMsMax) return stored
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
