import { queryOptions } from '@tanstack/react-query'
import type { Message } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'

/** The messages of a session from one on: as they never change, only those that are missing are read. */
export type Transcript = {
  messages: readonly Message[]
  /** How many messages there are before the first. */
  from: number
}

/** Even, because messages come in pairs. */
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
    // Comparing long texts with themselves would take long.
    structuralSharing: false,
  })

export function known(sessionId: string): Transcript | undefined {
  return queryClient.getQueryData(transcriptKey(sessionId))
}

/** What came after the messages that are known; the newest ones when none is. */
export async function readNew(sessionId: string): Promise<Transcript> {
  const before = known(sessionId)
  if (before) return await readFrom(sessionId, before.from + before.messages.length)
  const { messageCount } = await queryClient.fetchQuery({ ...sessionOptions(sessionId), staleTime: 1000 })
  return await readFrom(sessionId, evenBefore(messageCount))
}

/** Adds a page to what is known. */
export function keep(sessionId: string, page: Transcript): void {
  const before = known(sessionId)
  const after = join(before, page)
  if (after !== before) queryClient.setQueryData<Transcript>(transcriptKey(sessionId), after)
}

/** Reads the page before the first message that is known. */
export async function readEarlier(sessionId: string): Promise<void> {
  const before = known(sessionId)
  if (!before || before.from === 0) return
  const offset = evenBefore(before.from)
  keep(sessionId, await readFrom(sessionId, offset, before.from))
}

/** Where the page ends that begins so many messages before. */
function evenBefore(count: number): number {
  const from = Math.max(0, count - pageSize)
  return from - (from % 2)
}

/** Up to the message `to`, or the last. A page of large messages ends early. */
async function readFrom(sessionId: string, from: number, to = Infinity): Promise<Transcript> {
  const messages: Message[] = []
  for (;;) {
    const offset = from + messages.length
    const page = await client.sessions.messages({ sessionId, offset, limit: Math.min(readAtOnceMax, to - offset) })
    messages.push(...page.messages)
    const end = Math.min(page.total, to)
    if (page.messages.length === 0 || from + messages.length >= end) return { messages, from }
  }
}

/** Both, when they touch or overlap; the same object when the page brings nothing new. */
function join(before: Transcript | undefined, page: Transcript): Transcript {
  if (!before) return page
  const end = before.from + before.messages.length
  const earlier = page.messages.slice(0, Math.max(0, before.from - page.from))
  const later = page.from <= end ? page.messages.slice(Math.max(0, end - page.from)) : []
  if (earlier.length === 0 && later.length === 0) return before
  return { from: before.from - earlier.length, messages: [...earlier, ...before.messages, ...later] }
}
