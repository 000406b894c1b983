import { Button, Group } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import type { Account } from '../../../client/client.ts'
import { addCreditPath } from '../../app/add-credit-path.ts'
import { RouterLink } from '../../parts/router-link.tsx'
import { Money } from '../../parts/text/money.tsx'
import { StatTile, StatTiles } from '../overview/stat-tile.tsx'
import { subtractUsd } from '../../parts/text/usd-units.ts'

export function BalanceTiles({ account: { data, isPending } }: { account: UseQueryResult<Account> }) {
  const isHeld = data !== undefined && data.heldUsd !== '0.0000'
  return (
    <StatTiles>
      <StatTile
        label="Balance"
        isLoading={isPending}
        value={
          data && (
            <Group flex={1} justify="space-between" gap={4}>
              <Money usd={data.balanceUsd} isRounded />
              {/* On a phone, the header has no space for this button. */}
              {data.payments && (
                <Button component={RouterLink} href={addCreditPath} size="compact-sm" hiddenFrom="xs">
                  Add credit
                </Button>
              )}
            </Group>
          )
        }
        note={isHeld ? 'Sum of all transactions' : 'Available now'}
      />
      {isHeld && (
        <>
          <StatTile label="Held" value={<Money usd={data.heldUsd} isRounded />} note="For replies in progress" />
          <StatTile
            label="Available"
            value={<Money usd={subtractUsd(data.balanceUsd, data.heldUsd)} isRounded />}
            note="Balance minus the held amount"
          />
        </>
      )}
    </StatTiles>
  )
}
