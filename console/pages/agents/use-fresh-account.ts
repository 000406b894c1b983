import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { accountKey, useAccount } from '../../app/use-account.ts'

/** Refetches the account on mount and on focus, because other programs may have spent from its balance. */
export function useFreshAccount(): ReturnType<typeof useAccount> {
  const queries = useQueryClient()
  useEffect(() => {
    const renew = () => void queries.invalidateQueries({ queryKey: accountKey })
    renew()
    addEventListener('focus', renew)
    return () => removeEventListener('focus', renew)
  }, [queries])
  return useAccount()
}
