import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'wouter'
import type { Agent, SessionListItem } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { useOffset, useSearchField } from '../../../parts/hooks/use-search-field.ts'

const listLimit = 25
export const searchCharsMax = 120
/** Poll interval while a listed session has a reply in progress. */
const replyingPollMs = 2500

const statuses = ['active', 'completed', 'expired'] as const

export function useSessionList() {
  const [status] = useSearchField('status')
  const [agentId] = useSearchField('agentId')
  const [search] = useSearchField('search')
  const [offset] = useOffset()
  const known = statuses.find((one) => one === status)
  const input = {
    order: 'active' as const,
    ...(known !== undefined && { status: known }),
    ...(agentId !== '' && { agentId }),
    ...(search !== '' && { search: search.slice(0, searchCharsMax) }),
    limit: listLimit,
    offset,
  }
  const query = useQuery({
    queryKey: ['sessions', input],
    queryFn: ({ signal }) => client.sessions.list(input, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data?.sessions.some(({ isReplying }) => isReplying) ? replyingPollMs : false,
  })
  return { input, query }
}

export function titleOf({ messageCount, title }: Pick<SessionListItem, 'messageCount' | 'title'>): string {
  return title ?? (messageCount === 0 ? 'No messages yet' : 'Untitled chat')
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
  for (const name of ['status', 'agentId', 'search', 'offset']) {
    const value = params.get(name)
    if (value) kept.set(name, value)
  }
  const text = kept.toString()
  return text && `?${text}`
}
