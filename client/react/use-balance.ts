import { useCallback, useEffect, useState } from 'react'
import type { Account } from '../client.ts'
import { useErrandContext } from './errand-provider.tsx'

export type BalanceState = {
  /** Undefined until the first response. */
  account: Account | undefined
  /** The balance minus the amount reserved for replies in progress, in USD with four fraction digits. */
  availableUsd: string | undefined
  error: Error | undefined
  refresh: () => void
}

/**
 * Loads the caller's account. Reloads it on `refresh`, and after each task or reply run by a component under the same
 * provider.
 */
export function useBalance(): BalanceState {
  const { client, listeners } = useErrandContext()
  const [loaded, setLoaded] = useState<{ account?: Account; error?: Error }>({})
  const [round, setRound] = useState(0)
  const refresh = useCallback(() => setRound((last) => last + 1), [])
  useEffect(() => {
    let isCurrent = true
    client.account.get().then(
      (account) => isCurrent && setLoaded({ account }),
      (error: Error) => isCurrent && setLoaded((last) => ({ ...last, error })),
    )
    return () => {
      isCurrent = false
    }
  }, [client, round])
  useEffect(() => {
    listeners.add(refresh)
    return () => void listeners.delete(refresh)
  }, [listeners, refresh])
  const { account, error } = loaded
  return { account, availableUsd: account && subtractUsd(account.balanceUsd, account.heldUsd), error, refresh }
}

/** Subtracts amounts with four fraction digits as integers, because floating-point numbers would lose digits. */
function subtractUsd(from: string, amount: string): string {
  const units = unitsOf(from) - unitsOf(amount)
  const digits = String(units < 0n ? -units : units).padStart(5, '0')
  return `${units < 0n ? '-' : ''}${digits.slice(0, -4)}.${digits.slice(-4)}`
}

const unitsOf = (usd: string) => BigInt(usd.replace('.', ''))
