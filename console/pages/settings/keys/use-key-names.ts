import { useQuery } from '@tanstack/react-query'
import { client } from '../../../app/api-client.ts'

const keysMax = 100

/** Loads the account's newest keys, active or not. */
export function useNewestKeys(isNeeded = true) {
  return useQuery({
    queryKey: ['keys', 'names'],
    queryFn: ({ signal }) => client.keys.list({ limit: keysMax }, { signal }),
    enabled: isNeeded,
  })
}

/**
 * Returns the names of the account's newest keys by id. Returns undefined while they load, so that the page does not
 * briefly show ids instead of names.
 */
export function useKeyNames(isNeeded: boolean): ReadonlyMap<string, string> | undefined {
  const { data, isPending } = useNewestKeys(isNeeded)
  if (isPending) return undefined
  return new Map(data?.keys.map(({ hint, id, name }) => [id, `${name} …${hint}`]))
}
