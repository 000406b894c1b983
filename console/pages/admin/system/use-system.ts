import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { System } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'

/** How the service is doing; read again every `renewMs` while somebody looks at the page. */
export function useSystem(renewMs?: number): UseQueryResult<System> {
  return useQuery({
    queryKey: ['system'],
    queryFn: ({ signal }) => client.system.get({ signal }),
    ...(renewMs !== undefined && { refetchInterval: renewMs }),
  })
}
