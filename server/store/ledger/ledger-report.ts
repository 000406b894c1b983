export type LedgerDifference = {
  userId: string | null
  taskId?: string
  what: string
  expected: string
  actual: string
}

export type LedgerReport = {
  ok: boolean
  accounts: number
  balanceUsd: string
  transactions: number
  differences: LedgerDifference[]
}
