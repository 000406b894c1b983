import { Alert } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import type { Account } from '../../../client/client.ts'
import { Money } from '../../parts/text/money.tsx'
import { usdUnits } from '../../parts/text/usd-units.ts'

/** Warns about a debt, or about a balance below the owner's threshold. Otherwise renders nothing. */
export function BalanceNotice({ account }: { account: Account | undefined }) {
  if (!account) return null
  const { balanceUsd, notifyBelowUsd, owedUsd } = account
  if (owedUsd !== '0.0000') {
    return (
      <Alert color="red" title="Something is owed" icon={<ExclamationTriangleIcon aria-hidden />} variant="light">
        A payment was taken back, and <Money usd={owedUsd} fw={500} /> of it was spent. Tasks and chats begin again once
        credit has paid it.
      </Alert>
    )
  }
  if (notifyBelowUsd === null || usdUnits(balanceUsd) >= usdUnits(notifyBelowUsd)) return null
  return (
    <Alert color="yellow" title="The balance is low" icon={<ExclamationTriangleIcon aria-hidden />} variant="light">
      <Money usd={balanceUsd} fw={500} /> is left, which is below <Money usd={notifyBelowUsd} />.
    </Alert>
  )
}
