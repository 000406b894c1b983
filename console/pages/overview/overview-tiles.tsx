import type { Account } from '../../../client/client.ts'
import { addCreditPath } from '../../app/add-credit-path.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { Money } from '../../parts/text/money.tsx'
import { RateLimitTile } from './rate-limit-tile.tsx'
import { StatTile, StatTiles } from './stat-tile.tsx'
import { usageTotals, type UsageTotals } from './usage-totals.ts'
import { subtractUsd, usdUnits } from '../../parts/text/usd-units.ts'
import type { LiveOverview } from './use-live-overview.ts'

const count = new Intl.NumberFormat('en')

export function OverviewTiles({ account, usage, days }: Pick<LiveOverview, 'account' | 'usage'> & { days: number }) {
  const totals = usage.data && usageTotals(usage.data.days)
  const balance = account.data
  // While another period is loading, the figures still belong to the previous period.
  const period = `in the last ${usage.data?.days.length ?? days} days`
  return (
    <StatTiles>
      <StatTile
        label="Balance"
        isLoading={account.isPending}
        value={balance && <Money usd={balance.balanceUsd} isRounded />}
        note={balance && <BalanceNote account={balance} />}
      />
      <StatTile
        label={`Spent ${period}`}
        isLoading={usage.isPending}
        value={totals && <Money usd={totals.spentUsd} isRounded />}
        note={totals && <SpentNote {...totals} />}
      />
      <StatTile
        label={`Executions ${period}`}
        isLoading={usage.isPending}
        value={totals && count.format(totals.executions)}
        note={totals && failureNote(totals)}
      />
      <RateLimitTile account={balance} isLoading={account.isPending} />
    </StatTiles>
  )
}

function BalanceNote({ account: { balanceUsd, heldUsd, payments } }: { account: Account }) {
  if (usdUnits(heldUsd) > 0) {
    return (
      <>
        <Money usd={heldUsd} /> held for replies, <Money usd={subtractUsd(balanceUsd, heldUsd)} /> available
      </>
    )
  }
  if (usdUnits(balanceUsd) > 0) return 'Available now'
  return payments ? <PageLink href={addCreditPath}>Add credit</PageLink> : 'Ask an admin to add credit'
}

function SpentNote({ refundedUsd, reservedUsd }: Pick<UsageTotals, 'refundedUsd' | 'reservedUsd'>) {
  const [isRefunded, isReserved] = [usdUnits(refundedUsd) > 0, usdUnits(reservedUsd) > 0]
  if (!isRefunded && !isReserved) return 'No refunds'
  return (
    <>
      {isRefunded && (
        <>
          After <Money usd={refundedUsd} /> in refunds
        </>
      )}
      {isRefunded && isReserved && ', '}
      {isReserved && (
        <>
          <Money usd={reservedUsd} /> more reserved for tasks in progress
        </>
      )}
    </>
  )
}

function failureNote({ executions, failures, failureRate }: ReturnType<typeof usageTotals>): string {
  if (executions === 0 && failures === 0) return 'No executions'
  if (failures === 0) return 'No failures'
  return `${count.format(failures)} failed${failureRate === undefined ? '' : `, ${failureRate}`}`
}
