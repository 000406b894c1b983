import { queryOptions } from '@tanstack/react-query'
import type { Message } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'

/**
 * A contiguous range of a session's messages. Messages never change, so the console loads only those that are missing.
 */
export type Transcript = {
  messages: readonly Message[]
  /** Number of messages in the session before the first message of this range. */
  from: number
}

/** An even number, because a turn stores a pair of messages. */
const pageSize = 20
const readAtOnceMax = 100

export const sessionOptions = (sessionId: string) =>
  queryOptions({
    queryKey: ['session', sessionId],
    queryFn: ({ signal }) => client.sessions.get({ sessionId }, { signal }),
  })

const transcriptKey = (sessionId: string) => ['messages', sessionId] as const

export const transcriptOptions = (sessionId: string) =>
  queryOptions({
    queryKey: transcriptKey(sessionId),
    queryFn: async (): Promise<Transcript> => {
      const page = await readNew(sessionId)
      return join(known(sessionId), page)
    },
    // Disabled, because it would compare long strings, which is slow.
    structuralSharing: false,
  })

export function known(sessionId: string): Transcript | undefined {
  return queryClient.getQueryData(transcriptKey(sessionId))
}

/** Loads the messages after the cached ones. If none are cached, loads the newest page. */
export async function readNew(sessionId: string): Promise<Transcript> {
  const before = known(sessionId)
  if (before) return await readFrom(sessionId, before.from + before.messages.length)
  const { messageCount } = await queryClient.fetchQuery({ ...sessionOptions(sessionId), staleTime: 1000 })
  return await readFrom(sessionId, evenBefore(messageCount))
}

export function keep(sessionId: string, page: Transcript): void {
  const before = known(sessionId)
  const after = join(before, page)
  if (after !== before) queryClient.setQueryData<Transcript>(transcriptKey(sessionId), after)
}

export async function readEarlier(sessionId: string): Promise<void> {
  const before = known(sessionId)
  if (!before || before.from === 0) return
  const offset = evenBefore(before.from)
  keep(sessionId, await readFrom(sessionId, offset, before.from))
}

/** Returns the even start index of the page that ends before message `count`. */
function evenBefore(count: number): number {
  const from = Math.max(0, count - pageSize)
  return from - (from % 2)
}

/**
 * Loads the messages up to index `to` or to the last message. Several requests may be necessary, because large messages
 * make a page shorter.
 */
export async function readFrom(sessionId: string, from: number, to = Infinity): Promise<Transcript> {
  const messages: Message[] = []
  for (;;) {
    const offset = from + messages.length
    const page = await client.sessions.messages({ sessionId, offset, limit: Math.min(readAtOnceMax, to - offset) })
    messages.push(...page.messages)
    const end = Math.min(page.total, to)
    if (page.messages.length === 0 || from + messages.length >= end) return { messages, from }
  }
}

/** Joins two ranges if they touch or overlap. Returns `before` itself if the page adds nothing. */
function join(before: Transcript | undefined, page: Transcript): Transcript {
  if (!before) return page
  const end = before.from + before.messages.length
  const earlier = page.messages.slice(0, Math.max(0, before.from - page.from))
  const later = page.from <= end ? page.messages.slice(Math.max(0, end - page.from)) : []
  if (earlier.length === 0 && later.length === 0) return before
  return { from: before.from - earlier.length, messages: [...earlier, ...before.messages, ...later] }
}
