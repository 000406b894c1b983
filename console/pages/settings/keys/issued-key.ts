import { skipToken, useQuery } from '@tanstack/react-query'
import type { CreatedKey } from '../../../../client/client.ts'
import { queryClient } from '../../../app/query-client.ts'

/** A key that was made now, and the one that it takes the place of. */
export type IssuedKey = { created: CreatedKey; replaced?: { hint: string; endsAt: string } }

const issuedKeyKey = ['issued-key'] as const

/**
 * The key that waits to be stored by its owner. It outlives the page, so that the browser's back button does not lose
 * it, and ends with the login.
 */
export function useIssuedKey(): IssuedKey | undefined {
  const { data } = useQuery<IssuedKey | null>({ queryKey: issuedKeyKey, queryFn: skipToken, gcTime: Infinity })
  return data ?? undefined
}

export function setIssuedKey(issued: IssuedKey | null): void {
  queryClient.setQueryData(issuedKeyKey, issued)
}
