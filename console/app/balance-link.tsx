import { Button, Skeleton, Text } from '@mantine/core'
import { addCreditPath } from './add-credit-path.ts'
import { Money } from '../parts/text/money.tsx'
import { RouterLink } from '../parts/router-link.tsx'
import { useAccount } from './use-account.ts'

export function BalanceLink() {
  const { data, isPending } = useAccount()
  if (isPending) return <Skeleton width={88} height={24} />
  return (
    <>
      <Button component={RouterLink} href="/billing" variant="default" size="xs" fw={500}>
        <Text component="span" inherit c="dimmed" visibleFrom="xs" pr={6}>
          Balance
        </Text>
        {data ? <Money usd={data.balanceUsd} isRounded /> : 'Unknown'}
      </Button>
      {data?.payments && (
        <Button component={RouterLink} href={addCreditPath} size="xs" visibleFrom="xs">
          Add credit
        </Button>
      )}
    </>
  )
}
