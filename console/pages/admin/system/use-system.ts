import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import type { System } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'

/** Loads the system state and reloads it every `renewMs` while the page is visible. */
export function useSystem(renewMs?: number): UseQueryResult<System> {
  return useQuery({
    queryKey: ['system'],
    queryFn: ({ signal }) => client.system.get({ signal }),
    ...(renewMs !== undefined && { refetchInterval: renewMs }),
  })
}
