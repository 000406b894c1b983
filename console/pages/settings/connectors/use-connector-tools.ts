import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { Connector } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'

export type ToolsPage = Awaited<ReturnType<typeof client.connectors.tools>>

/**
 * Lists the tools that the server currently offers. Each query opens a connection, so it runs automatically only when
 * the page opens.
 */
export function useConnectorTools({ id: connectorId, status }: Connector): UseQueryResult<ToolsPage> {
  return useQuery({
    // Until the user signs in, the connector has no credentials.
    enabled: status !== 'needs_sign_in',
    queryKey: ['connector-tools', connectorId],
    queryFn: async ({ signal }) => {
      try {
        return await client.connectors.tools({ connectorId }, { signal })
      } finally {
        // The query also tests the connector, and the service stores the result in the connector.
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
