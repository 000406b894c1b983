import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Connector } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'

export type ToolsPage = Awaited<ReturnType<typeof client.connectors.tools>>

/** What the server offers now. Each time it is asked a connection is made, so nothing asks by itself but the page's opening. */
export function useConnectorTools({ id: connectorId, status }: Connector): UseQueryResult<ToolsPage> {
  return useQuery({
    // Before a sign-in there is nothing to ask with.
    enabled: status !== 'needs_sign_in',
    queryKey: ['connector-tools', connectorId],
    queryFn: async ({ signal }) => {
      try {
        return await client.connectors.tools({ connectorId }, { signal })
      } finally {
        // It was a test too, whose result the connector keeps.
        void queryClient.invalidateQueries({ queryKey: ['connectors'] })
        await queryClient.invalidateQueries({ queryKey: ['connector', connectorId] })
      }
    },
    retry: false,
    staleTime: Infinity,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  })
}
