import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { navigate } from 'wouter/use-browser-location'
import { ErrandClientError } from '../../client/client.ts'
import { loginPath } from './local-path.ts'

const retriesMax = 2
const unreachedRetryMs = 3000

/** Goes to the login page when the error says that nobody is logged in; chats, which are no queries, call it too. */
export function leaveWhenLoggedOut(error: unknown): void {
  if (!(error instanceof ErrandClientError) || error.status !== 401) return
  if (/^\/(?:login|invitation)$/.test(location.pathname)) return
  navigate(loginPath(), { replace: true })
}

/** Only what may pass by itself is tried again: no answer, or a fault of the service. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof ErrandClientError)) return false
  return isUnreached(error) || (error.status ?? 0) >= 500
}

/** Whether there was no answer at all, which is tried again until there is one. */
export function isUnreached(error: unknown): boolean {
  return error instanceof ErrandClientError && (error.code === 'NETWORK_ERROR' || error.code === 'TIMEOUT')
}

/** What one query learns, that the service answers again, is true for all that are shown. */
function renewUnreached(): void {
  const filters = { type: 'active', fetchStatus: 'idle' } as const
  void queryClient.refetchQueries({ ...filters, predicate: ({ state }) => isUnreached(state.error) })
}

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: leaveWhenLoggedOut, onSuccess: renewUnreached }),
  mutationCache: new MutationCache({ onError: leaveWhenLoggedOut }),
  defaultOptions: {
    // The service may be on this very machine, so a browser without a network still asks it.
    queries: {
      networkMode: 'always',
      staleTime: 5000,
      // While the page is visible.
      refetchInterval: ({ state }) => (isUnreached(state.error) ? unreachedRetryMs : false),
      retry: (failures, error) => failures < retriesMax && mayPass(error),
    },
    mutations: { networkMode: 'always' },
  },
})
