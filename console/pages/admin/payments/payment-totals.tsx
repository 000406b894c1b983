import type { client } from '../../../app/api-client.ts'
import { Money } from '../../../parts/text/money.tsx'
import { Figures } from '../system/figures.tsx'

type Totals = Awaited<ReturnType<typeof client.topups.listAll>>['totals']

export function PaymentTotals({ totals: { disputedUsd, owedUsd, paidUsd, refundedUsd, topups } }: { totals: Totals }) {
  const note = 'From payments in this period'
  return (
    <Figures
      of={[
        {
          name: 'Paid',
          value: <Money usd={paidUsd} isRounded />,
          note: topups === 1 ? '1 top-up' : `${topups} top-ups`,
        },
        { name: 'Refunded', value: <Money usd={refundedUsd} isRounded />, note },
        { name: 'Disputed', value: <Money usd={disputedUsd} isRounded />, note },
        { name: 'Owed by users', value: <Money usd={owedUsd} isRounded />, note: 'Now' },
      ]}
    />
  )
}
