import { skipToken, useQuery } from '@tanstack/react-query'
import type { CreatedKey } from '../../../../client/client.ts'
import { queryClient } from '../../../app/query-client.ts'

/** A key that was just created, and the key that it replaces. */
export type IssuedKey = { created: CreatedKey; replaced?: { hint: string; endsAt: string } }

const issuedKeyKey = ['issued-key'] as const

/**
 * A new key until its owner has stored it. It survives the page, so that the back button does not lose it, and ends
 * with the login.
 */
export function useIssuedKey(): IssuedKey | undefined {
  const { data } = useQuery<IssuedKey | null>({ queryKey: issuedKeyKey, queryFn: skipToken, gcTime: Infinity })
  return data ?? undefined
}

export function setIssuedKey(issued: IssuedKey | null): void {
  queryClient.setQueryData(issuedKeyKey, issued)
}
