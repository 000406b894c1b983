import type { ReactNode } from 'react'
import { formatUsd } from './format-usd.ts'
import { useBalance } from './use-balance.ts'

export type BalanceProps = {
  /** Appended to the class `errand-balance`. */
  className?: string | undefined
  /** BCP 47 locale of the amount. Defaults to the browser's. */
  locale?: string | undefined
}

/** Shows the amount that the user can spend. Updates after each task and reply. */
export function Balance({ className, locale }: BalanceProps): ReactNode {
  const { availableUsd, error } = useBalance()
  const text = availableUsd === undefined ? (error ? '–' : '…') : formatUsd(availableUsd, locale)
  return (
    <output
      className={className === undefined ? 'errand-balance' : `errand-balance ${className}`}
      title={error?.message}
    >
      {text}
    </output>
  )
}
