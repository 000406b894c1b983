import { useQuery } from '@tanstack/react-query'
import { parseUsd } from '../../../../server/kernel/money.ts'
import type { Transaction } from '../../../../client/client.ts'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'

export type SessionCosts = {
  byTurn: ReadonlyMap<string, Transaction>
  /** Total in units of 0.0001 USD. */
  total: number
  /** False if the session has too many charges to load. The total then covers only the newest charges. */
  isComplete: boolean
}

const pageSize = 100
const pagesMax = 10

const costsKey = (sessionId: string) => ['transactions', 'of-session', sessionId] as const

export function useSessionCosts(sessionId: string) {
  return useQuery({
    queryKey: costsKey(sessionId),
    queryFn: ({ signal }) => readCosts(sessionId, signal),
    structuralSharing: false,
  })
}

/**
 * Loads the costs of a session. Transactions never change and are listed newest first, so loading stops at the first
 * cached transaction.
 */
async function readCosts(sessionId: string, signal: AbortSignal): Promise<SessionCosts> {
  const before = queryClient.getQueryData<SessionCosts>(costsKey(sessionId))
  const byTurn = new Map(before?.byTurn)
  for (let page = 0; page < pagesMax; page++) {
    const input = { sessionId, limit: pageSize, offset: page * pageSize }
    const { total, transactions } = await client.transactions.list(input, { signal })
    const fresh = transactions.filter(({ turnId }) => turnId !== undefined && !byTurn.has(turnId))
    for (const transaction of fresh) byTurn.set(transaction.turnId!, transaction)
    if (byTurn.size >= total) return sum(byTurn, true)
    if (before && fresh.length < transactions.length) return sum(byTurn, before.isComplete)
  }
  return sum(byTurn, false)
}

function sum(byTurn: ReadonlyMap<string, Transaction>, isComplete: boolean): SessionCosts {
  const total = Array.from(byTurn.values()).reduce((units, { amountUsd }) => units - (parseUsd(amountUsd) ?? 0), 0)
  return { byTurn, total, isComplete }
}
