import { Text } from '@mantine/core'
import type { UserTask } from '../../../client/client.ts'
import { Panel } from '../../parts/panel.tsx'
import { countText } from '../../parts/text/count-text.ts'
import { durationText } from '../../parts/text/duration-text.ts'
import classes from './task.module.css'

type LogPanelProps = {
  title: string
  log: NonNullable<UserTask['log']>
  /** Start of the run. The time of each line is shown relative to it. */
  startedAt: string | undefined
}

export function LogPanel({ log: { dropped, lines }, startedAt, title }: LogPanelProps) {
  return (
    <Panel title={title}>
      {dropped > 0 && (
        <Text size="sm" c="dimmed" mb="xs">
          {countText(dropped)} older {dropped === 1 ? 'line was' : 'lines were'} not stored.
        </Text>
      )}
      <ol className={classes.log} tabIndex={0} aria-label={title}>
        {lines.map(({ at, fields, message }, index) => (
          <li key={index}>
            <time dateTime={at} title={at}>
              {startedAt === undefined ? at : durationText(Date.parse(at) - Date.parse(startedAt))}
            </time>
            <span>
              {message}
              {fields !== undefined && <code>{JSON.stringify(fields)}</code>}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
