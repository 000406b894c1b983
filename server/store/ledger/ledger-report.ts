/** A violation of an invariant. */
export type LedgerDifference = {
  userId: string | null
  taskId?: string
  what: string
  expected: string
  actual: string
}

/** `balanceUsd`: the sum of all balances. */
export type LedgerReport = {
  ok: boolean
  accounts: number
  balanceUsd: string
  transactions: number
  differences: LedgerDifference[]
}
