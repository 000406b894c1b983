import { Skeleton } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from './stat-tile.module.css'

type StatTileProps = {
  label: string
  /** Undefined while it is not known. */
  value: ReactNode
  /** One line of explanation, which may be empty but keeps its place. */
  note?: ReactNode
  isLoading?: boolean
}

/** Figures side by side. */
export function StatTiles({ children }: { children: ReactNode }) {
  return <dl className={classes.tiles}>{children}</dl>
}

/** One figure with its name, within StatTiles. */
export function StatTile({ label, value, note, isLoading = false }: StatTileProps) {
  return (
    <div className={classes.tile} aria-busy={isLoading}>
      <dt>{label}</dt>
      <dd className={classes.value}>{isLoading ? <Skeleton height={20} width={110} /> : (value ?? 'Unknown')}</dd>
      <dd className={classes.note}>{isLoading ? <Skeleton height={12} width={150} mt={4} /> : note}</dd>
    </div>
  )
}
