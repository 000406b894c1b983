import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'
import { client } from '../../app/api-client.ts'
import { queryClient } from '../../app/query-client.ts'
import { accountKey } from '../../app/use-account.ts'

/** Polls while the tab is visible. Refetches when the tab becomes visible again. */
const live = { refetchInterval: 4000, refetchIntervalInBackground: false, refetchOnWindowFocus: true } as const
const newestMax = 6
const runningMax = 5
/** Chats are listed by last use, so a reply in progress is among the first. */
const chatsMax = 25

function useLiveTasks(input: { status?: 'pending' | 'processing'; limit: number }) {
  return useQuery({
    queryKey: ['tasks', input],
    queryFn: ({ signal }) => client.tasks.list(input, { signal }),
    ...live,
  })
}

/** Loads all overview data. Every few seconds, refetches everything except the usage totals. */
export function useLiveOverview(days: number) {
  const account = useQuery({ queryKey: accountKey, queryFn: ({ signal }) => client.account.get({ signal }), ...live })
  const processing = useLiveTasks({ status: 'processing', limit: runningMax })
  const pending = useLiveTasks({ status: 'pending', limit: runningMax })
  const tasks = useLiveTasks({ limit: newestMax })
  const transactions = useQuery({
    queryKey: ['transactions', { limit: newestMax }],
    queryFn: ({ signal }) => client.transactions.list({ limit: newestMax }, { signal }),
    ...live,
  })
  const sessions = useQuery({
    queryKey: ['sessions', { order: 'active', limit: chatsMax }],
    queryFn: ({ signal }) => client.sessions.list({ order: 'active', limit: chatsMax }, { signal }),
    ...live,
  })
  const replying = sessions.data?.sessions.filter(({ isReplying }) => isReplying) ?? []
  const chats = useQuery({
    queryKey: ['transactions', { type: 'chat_charge', limit: 1 }],
    queryFn: ({ signal }) => client.transactions.list({ type: 'chat_charge', limit: 1 }, { signal }),
    enabled: tasks.data?.total === 0,
    ...live,
  })
  const usage = useQuery({
    queryKey: ['usage', days],
    queryFn: ({ signal }) => client.account.usage({ days }, { signal }),
    placeholderData: keepPreviousData,
  })
  useUsageAfter(
    transactions.data && processing.data && pending.data
      ? [transactions.data.transactions[0]?.id, processing.data.total, pending.data.total].join(' ')
      : undefined,
  )
  return {
    account,
    processing,
    pending,
    tasks,
    transactions,
    usage,
    replying,
    isNew: isNewAccount(tasks.data, chats.data),
  }
}

export type LiveOverview = ReturnType<typeof useLiveOverview>

/**
 * Refetches the daily totals only if `state` changes. A transaction changes the charges. The end of a metered task that
 * used its maximum has no transaction, but changes the reserved amount.
 */
function useUsageAfter(state: string | undefined): void {
  const seen = useRef<string>(undefined)
  useEffect(() => {
    if (state === undefined) return
    if (seen.current !== undefined && seen.current !== state) {
      void queryClient.invalidateQueries({ queryKey: ['usage'] })
    }
    seen.current = state
  }, [state])
}

type Counted = { total: number } | undefined

/** Whether the account has never run a task or a chat. Undefined until the tasks and chats are loaded. */
function isNewAccount(tasks: Counted, chats: Counted): boolean | undefined {
  if (tasks === undefined) return undefined
  if (tasks.total > 0) return false
  return chats === undefined ? undefined : chats.total === 0
}
