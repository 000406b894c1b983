import { resolvePayments } from '../app/config.ts'
import { SystemClock } from '../kernel/clock.ts'
import { UsageError } from '../kernel/usage-error.ts'
import { openPayments } from '../payments/open-payments.ts'
import { reconcilePayments } from '../payments/reconcile-payments.ts'
import { print, withStore } from './open-store.ts'
import { createServiceLog } from '../app/service-log.ts'

type Options = { data?: string; json?: boolean; days: string; apply?: boolean }

/**
 * Most disputes are opened within 120 days of the payment, so looking back more than a year would only add calls to the
 * provider.
 */
const daysMax = 366

export async function reconcile({ apply: applies = false, days: text, ...common }: Options): Promise<void> {
  const days = Number(text)
  if (!/^\d{1,3}$/.test(text) || days < 1 || days > daysMax) {
    throw new UsageError(`--days: must be a whole number from 1 to ${daysMax}`)
  }
  const port = await openPayments(resolvePayments())
  if (!port) throw new UsageError('ERRAND_STRIPE_SECRET_KEY: must be set to query the payment provider')
  const parts = { clock: new SystemClock(), log: createServiceLog('warn'), port }
  const found = await withStore(common, (store) => reconcilePayments({ ...parts, store }, { applies, days }))
  const lines = found.differences.map(({ isApplied, topupId, userId, what }) => {
    return `${topupId} of ${userId ?? 'unknown account'} ${what}${isApplied ? '; applied' : ''}`
  })
  const left = found.differences.filter(({ isApplied }) => !isApplied).length
  const verdict = left === 0 ? 'no differences found.' : `${left} differ. Add --apply to apply the provider's state.`
  const summary = `${found.topups} top-ups from the last ${days} days: ${verdict}`
  print(common, found, [...lines, summary].join('\n'))
  if (left > 0) process.exitCode = 1
}
