import { Alert, Text } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import { useQuery } from '@tanstack/react-query'
import type { Topup } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { Money } from '../../parts/text/money.tsx'
import { TimeText } from '../../parts/text/time-text.tsx'

const shownMs = 14 * 86_400_000
const noticesMax = 3

/** Explains each refund or dispute of the last two weeks that took money from the balance. */
export function ReversalNotices() {
  const reversed = useQuery({ queryKey: ['topups', 'reversed'], queryFn: readReversed, staleTime: 60_000 })
  return reversed.data?.map((topup) => <ReversalNotice key={topup.id} topup={topup} />)
}

async function readReversed({ signal }: { signal: AbortSignal }): Promise<Topup[]> {
  const createdAfter = new Date(Date.now() - shownMs).toISOString()
  const input = { type: 'topup_reversal', createdAfter, limit: 20 } as const
  const { transactions } = await client.transactions.list(input, { signal })
  const ids = new Set(transactions.flatMap(({ topupId }) => topupId ?? []))
  const topups = await Promise.all([...ids].map((topupId) => client.topups.get({ topupId }, { signal })))
  return topups.filter(isReversed).slice(0, noticesMax)
}

function isReversed({ disputedUsd, refundedUsd }: Topup): boolean {
  return disputedUsd !== '0.0000' || refundedUsd !== '0.0000'
}

function ReversalNotice({ topup }: { topup: Topup }) {
  const { amountUsd, disputedUsd, paidAt, refundedUsd } = topup
  const isDisputed = disputedUsd !== '0.0000'
  const payment = (
    <>
      your payment of <Money usd={amountUsd} />
      {paidAt !== null && (
        <>
          {' '}
          (<TimeText at={paidAt} />)
        </>
      )}
    </>
  )
  return (
    <Alert
      color="yellow"
      title={isDisputed ? 'Payment disputed' : 'Payment refunded'}
      icon={<ExclamationTriangleIcon aria-hidden />}
      variant="light"
    >
      {refundedUsd !== '0.0000' && (
        <Text inherit>
          <Money usd={refundedUsd} fw={500} /> of {payment} was refunded to your payment method, and deducted here. If
          the refund fails, the amount returns to your balance.
        </Text>
      )}
      {isDisputed && (
        <Text inherit>
          <Money usd={disputedUsd} fw={500} /> of {payment} is disputed, and was deducted here. If the dispute is
          withdrawn or rejected, the amount returns to your balance.
        </Text>
      )}
      <PageLink href="/billing?type=topup_reversal">View these transactions</PageLink>
    </Alert>
  )
}
