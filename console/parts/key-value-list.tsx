import { Fragment, type ReactNode } from 'react'
import classes from './key-value-list.module.css'

/** Shows names and values in two columns. Omits rows whose value is null, undefined or false. */
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
