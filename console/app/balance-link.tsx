import { Button, Skeleton, Text } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import type { Account } from '../../client/client.ts'
import { addCreditPath } from './add-credit-path.ts'
import { Money } from '../parts/text/money.tsx'
import { usdUnits } from '../parts/text/usd-units.ts'
import { RouterLink } from '../parts/router-link.tsx'
import { useAccount } from './use-account.ts'

export function BalanceLink() {
  const { data, isPending } = useAccount()
  if (isPending) return <Skeleton width={88} height={24} />
  const isLow = data !== undefined && isLowBalance(data)
  return (
    <>
      <Button component={RouterLink} href="/billing" variant="default" size="xs" fw={500}>
        <Text component="span" inherit c="dimmed" visibleFrom="xs" pr={6}>
          Balance
        </Text>
        {isLow && <ExclamationTriangleIcon aria-label="Low balance" style={{ marginRight: 6 }} />}
        {data ? <Money usd={data.balanceUsd} isRounded {...(isLow && { c: 'red' })} /> : 'Unknown'}
      </Button>
      {data?.payments && (
        <Button component={RouterLink} href={addCreditPath} size="xs" visibleFrom="xs">
          Add credit
        </Button>
      )}
    </>
  )
}

/** Whether the account has a debt, or less than the owner's threshold. */
function isLowBalance({ balanceUsd, notifyBelowUsd, owedUsd }: Account): boolean {
  return usdUnits(owedUsd) > 0 || (notifyBelowUsd !== null && usdUnits(balanceUsd) < usdUnits(notifyBelowUsd))
}
