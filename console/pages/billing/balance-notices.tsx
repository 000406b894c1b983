import { Alert } from '@mantine/core'
import { ExclamationTriangleIcon } from '@radix-ui/react-icons'
import type { Account } from '../../../client/client.ts'
import { addCreditPath } from '../../app/add-credit-path.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { Money } from '../../parts/text/money.tsx'
import { usdUnits } from '../../parts/text/usd-units.ts'
import { ReversalNotices } from './reversal-notices.tsx'

/** Warns about refunded or disputed payments, a debt, and a balance below the owner's threshold. */
export function BalanceNotices({ account }: { account: Account | undefined }) {
  if (!account) return null
  return (
    <>
      <BalanceNotice account={account} />
      {account.payments && <ReversalNotices />}
    </>
  )
}

function BalanceNotice({ account: { balanceUsd, notifyBelowUsd, owedUsd, payments } }: { account: Account }) {
  if (owedUsd !== '0.0000') {
    return (
      <Alert color="red" title="Outstanding debt" icon={<ExclamationTriangleIcon aria-hidden />} variant="light">
        A payment was refunded or disputed after <Money usd={owedUsd} fw={500} /> of it was spent.{' '}
        {payments ? <PageLink href={addCreditPath}>Add credit</PageLink> : 'Add credit'} to run tasks and chats again.
      </Alert>
    )
  }
  if (notifyBelowUsd === null || usdUnits(balanceUsd) >= usdUnits(notifyBelowUsd)) return null
  return (
    <Alert color="yellow" title="Your balance is low" icon={<ExclamationTriangleIcon aria-hidden />} variant="light">
      <Money usd={balanceUsd} fw={500} isRounded /> left, below your threshold of{' '}
      <Money usd={notifyBelowUsd} isRounded />. {payments && <PageLink href={addCreditPath}>Add credit</PageLink>}
    </Alert>
  )
}
