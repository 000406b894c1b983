import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { navigate } from 'wouter/use-browser-location'
import { ErrandClientError } from '../../client/client.ts'
import { loginPath } from './local-path.ts'

const retriesMax = 2

/** Goes to the login page when the error says that nobody is logged in; chats, which are no queries, call it too. */
export function leaveWhenLoggedOut(error: unknown): void {
  if (!(error instanceof ErrandClientError) || error.status !== 401) return
  if (/^\/(?:login|invitation)$/.test(location.pathname)) return
  navigate(loginPath(), { replace: true })
}

/** Only what may pass by itself is tried again: no answer, or a fault of the service. */
function mayPass(error: unknown): boolean {
  if (!(error instanceof ErrandClientError)) return false
  return error.code === 'NETWORK_ERROR' || error.code === 'TIMEOUT' || (error.status ?? 0) >= 500
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: leaveWhenLoggedOut }),
  mutationCache: new MutationCache({ onError: leaveWhenLoggedOut }),
  defaultOptions: {
    // The service may be on this very machine, so a browser without a network still asks it.
    queries: {
      networkMode: 'always',
      staleTime: 5000,
      retry: (failures, error) => failures < retriesMax && mayPass(error),
    },
    mutations: { networkMode: 'always' },
  },
})
