import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import type { Agent } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { useOffset, useSearchField } from '../../../parts/hooks/use-search-field.ts'

/** Small enough that one batch of requests fetches the list and the first message of each session. */
export const listLimit = 15

const statuses = ['active', 'completed', 'expired'] as const

/** Loads the page of sessions that the URL selects. */
export function useSessionList() {
  const [status] = useSearchField('status')
  const [agentId] = useSearchField('agentId')
  const [offset] = useOffset()
  const known = statuses.find((one) => one === status)
  const input = {
    ...(known !== undefined && { status: known }),
    ...(agentId !== '' && { agentId }),
    limit: listLimit,
    offset,
  }
  const query = useQuery({
    queryKey: ['sessions', input],
    queryFn: ({ signal }) => client.sessions.list(input, { signal }),
    placeholderData: keepPreviousData,
  })
  return { input, query }
}

const titleCharsMax = 120

/** First messages by session id. They serve as titles, because sessions have no names. */
export function useFirstMessages(
  sessions: readonly { id: string; messageCount: number }[],
): ReadonlyMap<string, string> {
  return useQueries({
    queries: sessions
      .filter(({ messageCount }) => messageCount > 0)
      .map(({ id }) => ({
        queryKey: ['first-message', id],
        queryFn: async ({ signal }: { signal: AbortSignal }) => {
          const { messages } = await client.sessions.messages({ sessionId: id, limit: 1 }, { signal })
          // Caches only the part that is displayed.
          return { id, text: messages[0]?.content.slice(0, titleCharsMax).toWellFormed() ?? '' }
        },
        staleTime: Infinity,
      })),
    combine: (results) => new Map(results.flatMap(({ data }) => (data ? [[data.id, data.text] as const] : []))),
  })
}

export function titleOf(session: { id: string; messageCount: number }, firsts: ReadonlyMap<string, string>): string {
  if (session.messageCount === 0) return 'No messages yet'
  return firsts.get(session.id)?.trim().split('\n', 1)[0]?.trim() || '…'
}

/** Loads all agents that the account may use. The operator's configuration limits their number. */
export function useAllAgents() {
  return useQuery({
    queryKey: ['agents', 'all'],
    queryFn: async ({ signal }) => {
      const agents: Agent[] = []
      for (;;) {
        const page = await client.agents.list({ limit: 100, offset: agents.length }, { signal })
        agents.push(...page.agents)
        if (page.agents.length === 0 || agents.length >= page.total) return agents
      }
    },
    staleTime: 60_000,
  })
}

export function nameOf(agentId: string, agents: readonly Agent[] | undefined): string {
  return agents?.find(({ id }) => id === agentId)?.name ?? agentId
}

/** Returns the list's filters and page as a query string. Links to a session and back preserve them. */
export function useListSearch(): string {
  const [params] = useSearchParams()
  const kept = new URLSearchParams()
  for (const name of ['status', 'agentId', 'offset']) {
    const value = params.get(name)
    if (value) kept.set(name, value)
  }
  const text = kept.toString()
  return text && `?${text}`
}
