import type { Message } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { known, readNew, type Transcript } from './transcript.ts'

// What became of a message: the session's own messages say it.

type SentTurn = {
  sessionId: string
  /** Known of a turn that was read. */
  turnId: string | undefined
  message: string | undefined
  /** How many messages the session had before. */
  total: number
}

export type StoredTurn = {
  turnId: string
  reply: Message | undefined
  /** The messages that were not known before. */
  page: Transcript
}

/** Nothing is held for a free chat: it may take this long until it is stored. */
const settleMsMin = 1500
const settleMsMax = 30_000
const pauseMs = { first: 100, most: 1000 }

/** The turn as the session has it by now. */
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

/** The same for a turn whose end nobody heard of: waits until the service holds no money for a chat any more. */
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
