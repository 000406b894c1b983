import { ErrandError } from '../kernel/errors.ts'
import type { Logger } from '../kernel/logger.ts'
import { parseUsd } from '../kernel/money.ts'
import type { Store } from '../store/store.ts'
import type { SettledTurn, SettleTurn } from '../store/sessions/session-types.ts'

const settlePauseMs = 200
const settleTriesAnswered = 25
const faultyTriesMax = 3

/**
 * `closed` means that nothing was charged or stored, because another node closed the turn or attempts to settle it kept
 * failing.
 */
export type Settled = SettledTurn | 'closed'

/** Whether the store is temporarily unavailable. */
export function isTransient(error: unknown): boolean {
  return error instanceof ErrandError && error.code === 'SERVICE_UNAVAILABLE'
}

/**
 * Settles a turn. Retries while the store is unavailable, because the reserved money must be released and the session
 * must not stay busy.
 */
export async function settleWithRetries(
  { log, store }: { log: Logger; store: Store },
  { settle, userId }: { settle: SettleTurn; userId: string },
): Promise<Settled> {
  const { turnId } = settle
  let settling = settle
  for (let tries = 1; ; tries++) {
    try {
      const settled = await store.settleTurn(settling)
      if (settled) return settling === settle ? settled : 'closed'
      // An earlier attempt may have succeeded even though its response was lost.
      const own = tries > 1 && (await store.listTransactions({ userId, turnId, limit: 1, offset: 0 })).transactions[0]
      if (!own) return 'closed'
      const writtenOff = parseUsd(own.breakdown?.writtenOffUsd ?? '0') ?? 0
      return { charged: -own.amount, balance: own.balanceAfter, writtenOff }
    } catch (error) {
      log.error({ err: error, turnId }, 'could not settle a turn; retrying')
      // Other errors would recur on each attempt. Settle without a charge rather than never.
      if (!isTransient(error) && tries >= faultyTriesMax)
        settling = { ...settle, outcome: 'failed', cost: 0, remainder: 0, exchange: null }
      await new Promise((resolve) => setTimeout(resolve, settlePauseMs).unref())
    }
  }
}

/**
 * Resolves with the last line of the stream once the turn is settled, or with `lateLine` if that takes more than five
 * seconds.
 */
export async function lineInTime(told: Promise<string>, lateLine: () => string): Promise<string> {
  const late = Promise.withResolvers<string>()
  const timer = setTimeout(() => late.resolve(lateLine()), settlePauseMs * settleTriesAnswered)
  const settled = () => clearTimeout(timer)
  told.then(settled, settled)
  return await Promise.race([told, late.promise])
}
