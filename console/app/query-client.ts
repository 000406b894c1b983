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

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: leaveWhenLoggedOut, onSuccess: renewUnreached }),
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
