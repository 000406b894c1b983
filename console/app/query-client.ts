import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ErrandClientError } from '../../client/client.ts'
import { loginPath } from './local-path.ts'
import { goTo, pagePath } from './service-url.ts'

/** History state that tells the login page that the user's login has ended. */
export const wasLoggedOut = 'logged-out'

const retriesMax = 2
const unreachedRetryMs = 3000

/**
 * Opens the login page if the error means that the login has ended. Chats call this too, because they are not queries.
 */
export function leaveWhenLoggedOut(error: unknown): void {
  if (!(error instanceof ErrandClientError) || error.status !== 401) return
  if (/^\/(?:login|invitation)$/.test(pagePath())) return
  // If the account is cached, the user was logged in until now, and the login page says that the login has ended.
  const state = queryClient.getQueryData(['account']) === undefined ? null : wasLoggedOut
  goTo(loginPath(), { replace: true, state })
}

/** Whether the error may be transient: no response, or a failure of the service. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof ErrandClientError)) return false
  return isUnreached(error) || (error.status ?? 0) >= 500
}

/** Whether there was no response at all. Queries retry until there is one. */
export function isUnreached(error: unknown): boolean {
  return error instanceof ErrandClientError && (error.code === 'NETWORK_ERROR' || error.code === 'TIMEOUT')
}

/**
 * Called after a successful query, which shows that the service is back. Refetches all visible queries that could not
 * reach it.
 */
function renewUnreached(): void {
  const filters = { type: 'active', fetchStatus: 'idle' } as const
  void queryClient.refetchQueries({ ...filters, predicate: ({ state }) => isUnreached(state.error) })
}

/** Hashes of queries whose last request got no response. */
const unreached = new Set<string>()
const connectionListeners = new Set<() => void>()

function noteConnection(query: { queryHash: string }, error?: unknown): void {
  if (isUnreached(error)) unreached.add(query.queryHash)
  else unreached.delete(query.queryHash)
  for (const listener of connectionListeners) listener()
}

export function isConnectionLost(): boolean {
  const isLost = ({ queryHash }: { queryHash: string }) => unreached.has(queryHash)
  return unreached.size > 0 && queryClient.getQueryCache().findAll({ type: 'active' }).some(isLost)
}

export function onConnectionChange(listener: () => void): () => void {
  connectionListeners.add(listener)
  // Also notify the listener when the page's queries change.
  const unsubscribe = queryClient.getQueryCache().subscribe(listener)
  return () => {
    connectionListeners.delete(listener)
    unsubscribe()
  }
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      noteConnection(query, error)
      leaveWhenLoggedOut(error)
    },
    onSuccess: (_, query) => {
      noteConnection(query)
      renewUnreached()
    },
  }),
  mutationCache: new MutationCache({ onError: leaveWhenLoggedOut }),
  defaultOptions: {
    // Run queries even if the browser is offline, because the service may run on this machine.
    queries: {
      networkMode: 'always',
      staleTime: 5000,
      // Refetch only while the page is visible.
      refetchInterval: ({ state }) => (isUnreached(state.error) ? unreachedRetryMs : false),
      retry: (failures, error) => failures < retriesMax && mayPass(error),
    },
    mutations: { networkMode: 'always' },
  },
})
