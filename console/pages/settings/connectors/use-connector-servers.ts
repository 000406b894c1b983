import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'

type ServersPage = Awaited<ReturnType<typeof client.connectors.servers>>
export type ConnectorServer = ServersPage['servers'][number]

export function useConnectorServers(): UseQueryResult<ServersPage> {
  return useQuery({
    queryKey: ['connector-servers'],
    queryFn: ({ signal }) => client.connectors.servers({ limit: 100 }, { signal }),
    staleTime: 60_000,
  })
}
