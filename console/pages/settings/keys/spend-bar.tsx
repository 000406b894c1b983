import { Progress } from '@mantine/core'
import type { Key } from '../../../../client/client.ts'
import { spentShare } from './key-limits.ts'
import classes from '../settings.module.css'

/** Used share of a key's spending limit. */
export function SpendBar({ of: key }: { of: Key }) {
  const percent = Math.floor(100 * spentShare(key))
  return (
    <Progress.Root size="sm" my={4} className={classes.spend}>
      <Progress.Section
        value={percent}
        color={percent >= 100 ? 'red' : percent >= 80 ? 'yellow' : 'brand'}
        aria-label={`Spend of ${key.name}`}
      />
    </Progress.Root>
  )
}
