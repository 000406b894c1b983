import { Alert, Text } from '@mantine/core'
import { formatUsd, parseUsd } from '../../../server/kernel/money.ts'
import type { Account } from '../../../client/client.ts'
import { addCreditPath } from '../../app/add-credit-path.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { blockReason, WaitNotice } from './run-refusal.tsx'
import { usdText } from '../../parts/text/usd-text.ts'

/** Returns the balance after a run, in units. Negative if the balance is too low, and undefined if it is unknown. */
export function leftAfter(account: Account | undefined, priceUsd: string): number | undefined {
  const balance = account && parseUsd(account.balanceUsd)
  const held = account && parseUsd(account.heldUsd)
  const price = parseUsd(priceUsd)
  return balance === undefined || held === undefined || price === undefined ? undefined : balance - held - price
}

type RunCostProps = {
  account: Account | undefined
  isMetered: boolean
  priceUsd: string
}

export function RunCost({ account, isMetered, priceUsd }: RunCostProps) {
  const left = leftAfter(account, priceUsd)
  const isHeld = account !== undefined && parseUsd(account.heldUsd) !== 0
  const cost = !/[1-9]/.test(priceUsd)
    ? 'Free'
    : isMetered
      ? `Costs up to ${usdText(priceUsd)}; the unused part is refunded`
      : `Costs ${usdText(priceUsd)}`
  return (
    <Text className="tabular" aria-live="polite">
      {cost}
      {left !== undefined && left >= 0 && `; balance after: ${usdText(formatUsd(left))}`}
      {left !== undefined && left < 0 && `; ${usdText(formatUsd(-left))} short`}
      {isHeld && ` (${usdText(account.heldUsd)} held for replies in progress)`}
    </Text>
  )
}

type RunObstacleProps = { account: Account | undefined; isBlocked: boolean; priceUsd: string }

export function RunObstacle({ account, isBlocked, priceUsd }: RunObstacleProps) {
  const left = leftAfter(account, priceUsd)
  if (isBlocked && account?.blockedUntil) {
    return (
      <WaitNotice title="Tasks are temporarily blocked" until={Date.parse(account.blockedUntil)}>
        {blockReason}
      </WaitNotice>
    )
  }
  if (left === undefined || left >= 0) return null
  return (
    <Alert color="yellow" title="Insufficient balance">
      Your balance is {usdText(account?.balanceUsd ?? '')}.{' '}
      {account?.payments ? (
        <PageLink href={addCreditPath} underline="always">
          Add credit
        </PageLink>
      ) : (
        'Ask an admin to add credit.'
      )}
    </Alert>
  )
}
