import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ErrandClientError } from '../../client/client.ts'
import { loginPath } from './local-path.ts'
import { goTo, pagePath } from './service-url.ts'

/** History state of the login page if the login of the tab has ended. */
export const wasLoggedOut = 'logged-out'

const retriesMax = 2
const unreachedRetryMs = 3000

/**
 * Goes to the login page if the error means that the login has ended. Chats call this too, because they are not
 * queries.
 */
export function leaveWhenLoggedOut(error: unknown): void {
  if (!(error instanceof ErrandClientError) || error.status !== 401) return
  if (/^\/(?:login|invitation)$/.test(pagePath())) return
  // A tab that shows an account was logged in until now.
  const state = queryClient.getQueryData(['account']) === undefined ? null : wasLoggedOut
  goTo(loginPath(), { replace: true, state })
}

/** True for errors that may go away: no response, or a fault of the service. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof ErrandClientError)) return false
  return isUnreached(error) || (error.status ?? 0) >= 500
}

/** True if there was no response at all. Queries retry until there is one. */
export function isUnreached(error: unknown): boolean {
  return error instanceof ErrandClientError && (error.code === 'NETWORK_ERROR' || error.code === 'TIMEOUT')
}

/**
 * Called after a successful query, which shows that the service is back. Refetches all visible queries that failed to
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

/** True while a query of the current page cannot reach the service. */
export function isConnectionLost(): boolean {
  const isLost = ({ queryHash }: { queryHash: string }) => unreached.has(queryHash)
  return unreached.size > 0 && queryClient.getQueryCache().findAll({ type: 'active' }).some(isLost)
}

export function onConnectionChange(listener: () => void): () => void {
  connectionListeners.add(listener)
  // The page's queries change too.
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
    // Runs queries even if the browser is offline, because the service may run on this machine.
    queries: {
      networkMode: 'always',
      staleTime: 5000,
      // Refetches only while the page is visible.
      refetchInterval: ({ state }) => (isUnreached(state.error) ? unreachedRetryMs : false),
      retry: (failures, error) => failures < retriesMax && mayPass(error),
    },
    mutations: { networkMode: 'always' },
  },
})
