import { useState, type ReactNode } from 'react'
import { announceCharge, useErrandContext } from './errand-provider.tsx'
import { formatUsd } from './format-usd.ts'

export type AddCreditProps = {
  /** Amounts to choose from, in USD. Defaults to 10, 25 and 50. */
  amounts?: readonly string[] | undefined
  /**
   * Adds the credit in your product, for example on a page of your own. By default, starts a top-up with the service
   * and navigates to the payment page.
   */
  onAdd?: ((amountUsd: string) => void | Promise<void>) | undefined
  /** Page to return to after the payment. Defaults to this page. The operator must allow its origin. */
  returnUrl?: string | undefined
  /** Accessible name of the group of buttons. Defaults to `Add credit`. */
  label?: string | undefined
  locale?: string | undefined
}

export function AddCredit({
  amounts = ['10.00', '25.00', '50.00'],
  label = 'Add credit',
  locale,
  onAdd,
  returnUrl,
}: AddCreditProps): ReactNode {
  const errand = useErrandContext()
  const [isBusy, setIsBusy] = useState(false)
  const [error, setError] = useState<Error>()

  async function add(amountUsd: string): Promise<void> {
    setIsBusy(true)
    setError(undefined)
    try {
      if (onAdd) await onAdd(amountUsd)
      else await leaveForPayment(amountUsd)
      announceCharge(errand)
    } catch (thrown) {
      setError(thrown as Error)
    }
    setIsBusy(false)
  }

  async function leaveForPayment(amountUsd: string): Promise<void> {
    const { checkoutUrl } = await errand.client.topups.create({ amountUsd, returnUrl: returnUrl ?? location.href })
    if (checkoutUrl) location.assign(checkoutUrl)
  }

  return (
    <div className="errand-add-credit" role="group" aria-label={label}>
      {amounts.map((amountUsd) => (
        <button key={amountUsd} type="button" disabled={isBusy} onClick={() => void add(amountUsd)}>
          {formatUsd(amountUsd, locale)}
        </button>
      ))}
      {error && (
        <p className="errand-error" role="alert">
          {error.message}
        </p>
      )}
    </div>
  )
}
