import { skipToken, useQuery } from '@tanstack/react-query'
import type { CreatedKey } from '../../../../client/client.ts'
import { queryClient } from '../../../app/query-client.ts'

export type IssuedKey = { created: CreatedKey; replaced?: { hint: string; endsAt: string } }

const issuedKeyKey = ['issued-key'] as const

/**
 * Returns the newly created key until its owner has stored it. The key survives navigation, so that the back button
 * does not lose it. It is removed when the login ends.
 */
export function useIssuedKey(): IssuedKey | undefined {
  const { data } = useQuery<IssuedKey | null>({ queryKey: issuedKeyKey, queryFn: skipToken, gcTime: Infinity })
  return data ?? undefined
}

export function setIssuedKey(issued: IssuedKey | null): void {
  queryClient.setQueryData(issuedKeyKey, issued)
}
