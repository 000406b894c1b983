import { Skeleton } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './stat-tile.module.css'

type StatTileProps = {
  label: string
  value: ReactNode
  /** One line of explanation. An empty string reserves space for it. */
  note?: ReactNode
  isLoading?: boolean
}

export function StatTiles({ children }: { children: ReactNode }) {
  return <dl className={classes.tiles}>{children}</dl>
}

export function StatTile({ label, value, note, isLoading = false }: StatTileProps) {
  return (
    <div className={classes.tile} aria-busy={isLoading}>
      <dt>{label}</dt>
      <dd className={classes.value}>{isLoading ? <Skeleton height={20} width={110} /> : (value ?? 'Unknown')}</dd>
      <dd className={classes.note}>{isLoading ? <Skeleton height={12} width={150} mt={4} /> : note}</dd>
    </div>
  )
}
