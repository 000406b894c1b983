import { useQuery } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'

const keysMax = 100

/** Returns the names of the account's newest keys by id. Empty until they are loaded. */
export function useKeyNames(isNeeded: boolean): ReadonlyMap<string, string> {
  const keys = useQuery({
    queryKey: ['keys', 'names'],
    queryFn: ({ signal }) => client.keys.list({ limit: keysMax }, { signal }),
    enabled: isNeeded,
  })
  return new Map(keys.data?.keys.map(({ hint, id, name }) => [id, `${name} …${hint}`]))
}
