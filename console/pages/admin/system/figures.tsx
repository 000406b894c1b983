import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import classes from '../admin.module.css'

export type Figure = { name: string; value: ReactNode; note?: ReactNode }

export function Figures({ of, isPaired = false }: { of: readonly Figure[]; isPaired?: boolean }) {
  return (
    <dl className={classes.figures} data-paired={isPaired || undefined}>
      {of.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <span className={classes.figure}>{value}</span>
            {note && (
              <Text component="div" size="sm" c="dimmed">
                {note}
              </Text>
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
