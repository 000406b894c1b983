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
        note="The sum of all transactions"
      />
      <StatTile
        label="Held"
        isLoading={isPending}
        value={data && <Money usd={data.heldUsd} />}
        note="By chats that are replying now"
      />
      <StatTile
        label="Free to spend"
        isLoading={isPending}
        value={data && <Money usd={subtractUsd(data.balanceUsd, data.heldUsd)} />}
        note="The balance without what is held"
      />
    </StatTiles>
  )
}
