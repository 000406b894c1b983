import { Progress } from '@mantine/core'
import type { Key } from '../../../../client/client.ts'
import { MoneyOf } from '../../../parts/text/money.tsx'
import { resets } from './key-limits.ts'
import classes from '../settings.module.css'

/** `share` is the used part of a spending limit, from 0 to 1. */
export function SpendBar({ share, label }: { share: number; label: string }) {
  const percent = Math.floor(100 * share)
  return (
    <Progress.Root size="sm" my={4} className={classes.spend}>
      <Progress.Section
        value={percent}
        color={percent >= 100 ? 'red' : percent >= 80 ? 'yellow' : 'brand'}
        aria-label={label}
      />
    </Progress.Root>
  )
}

/** Spending of a key and its limit, such as `$0.0200 of $1.00 per day`. Renders nothing for a key without a limit. */
export function KeySpend({ of: { limitReset, limitUsd, usedUsd } }: { of: Key }) {
  if (limitUsd === null || usedUsd === null) return null
  return (
    <>
      <MoneyOf usd={usedUsd} ofUsd={limitUsd} />
      {resets.find(({ value }) => value === limitReset)?.text}
    </>
  )
}
