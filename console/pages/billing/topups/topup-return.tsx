import { Alert, Button, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { client } from '../../../app/api-client.ts'
import { queryClient } from '../../../app/query-client.ts'
import { accountKey } from '../../../app/use-account.ts'
import { useSearchField } from '../../../parts/hooks/use-search-field.ts'
import { notifyDone } from '../../../parts/notify.tsx'
import { usdText } from '../../../parts/text/usd-text.ts'
import { useSearchParams } from 'wouter'

const againMs = 2000

/**
 * Outcome of a payment, shown when the user returns from the provider's page. The provider may need a moment to confirm
 * the payment. A successful payment appears only as a notification.
 */
export function TopupReturn() {
  const [topupId] = useSearchField('topup')
  const [params, setParams] = useSearchParams()
  const isCanceled = params.has('canceled')
  const topup = useQuery({
    queryKey: ['topup', topupId],
    queryFn: ({ signal }) => client.topups.get({ topupId }, { signal }),
    enabled: topupId !== '',
    refetchInterval: ({ state }) => (state.data?.status === 'open' && !isCanceled ? againMs : false),
  })
  const status = topup.data?.status
  useEffect(() => {
    if (status === undefined || status === 'open') return
    for (const queryKey of [['topups'], ['transactions'], accountKey]) void queryClient.invalidateQueries({ queryKey })
    if (status !== 'paid') return
    notifyDone(`${amount} added to your balance.`)
    close()
  }, [status])
  const amount = usdText(topup.data?.amountUsd ?? '')
  const close = () =>
    setParams(
      (before) => {
        const next = new URLSearchParams(before)
        next.delete('topup')
        next.delete('canceled')
        return next
      },
      { replace: true },
    )
  if (topupId === '' || !topup.data || status === 'paid') return null
  const { color, text, title } = look()
  return (
    <Alert color={color} title={title} variant="light" role="status">
      {text}
      <Group mt="sm" gap="xs">
        {status === 'open' && isCanceled && topup.data.checkoutUrl !== null && (
          <Button size="xs" component="a" href={topup.data.checkoutUrl}>
            Continue to payment
          </Button>
        )}
        <Button size="xs" variant="default" onClick={close}>
          Close
        </Button>
      </Group>
    </Alert>
  )

  function look() {
    switch (status) {
      case 'failed':
        return {
          color: 'red',
          title: `Payment of ${amount} failed`,
          text: 'Nothing was charged. Try another payment method.',
        }
      case 'expired':
        return { color: 'gray', title: `Payment of ${amount} expired`, text: 'Nothing was charged.' }
      default:
        return isCanceled
          ? { color: 'gray', title: `Payment of ${amount} not completed`, text: 'You have not been charged.' }
          : {
              color: 'blue',
              title: `Payment of ${amount} in progress`,
              text: 'Credit is added when the payment is confirmed: usually within seconds for cards and within days for bank debits.',
            }
    }
  }
}
