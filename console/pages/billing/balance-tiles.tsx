import type { UseQueryResult } from '@tanstack/react-query'
import type { Account } from '../../../client/client.ts'
import { Money } from '../../parts/text/money.tsx'
import { StatTile, StatTiles } from '../overview/stat-tile.tsx'
import { subtractUsd } from '../../parts/text/usd-units.ts'

export function BalanceTiles({ account: { data, isPending } }: { account: UseQueryResult<Account> }) {
  return (
    <StatTiles>
      <StatTile
        label="Balance"
        isLoading={isPending}
        value={data && <Money usd={data.balanceUsd} />}
        note="Sum of all transactions"
      />
      <StatTile
        label="Held"
        isLoading={isPending}
        value={data && <Money usd={data.heldUsd} />}
        note="For replies in progress"
      />
      <StatTile
        label="Available"
        isLoading={isPending}
        value={data && <Money usd={subtractUsd(data.balanceUsd, data.heldUsd)} />}
        note="Balance minus the held amount"
      />
    </StatTiles>
  )
}
