import { Fragment, type ReactNode } from 'react'
import classes from './key-value-list.module.css'

/** Names and values in two columns. Rows with null, undefined or false are omitted. */
export function KeyValueList({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className={classes.list}>
      {rows
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  )
}
