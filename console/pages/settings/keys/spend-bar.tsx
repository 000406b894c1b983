import { Progress } from '@mantine/core'
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
