import { Text } from '@mantine/core'
import type { System } from '../../../../client/client.ts'
import { DataTable, type Column } from '../../../parts/data-table.tsx'
import { Panel } from '../../../parts/panel.tsx'
import { countText } from '../../../parts/text/count-text.ts'
import { dayName } from '../../../parts/text/day-name.ts'
import { TimeText } from '../../../parts/text/time-text.tsx'
import { durationText } from '../../../parts/text/duration-text.ts'
import { failureRate } from '../../usage/group-sums.ts'
import classes from '../admin.module.css'

const dayMs = 86_400_000

export function LastDayPanel({ system: { lastDay } }: { system: System }) {
  const isWholeDay = Date.now() - Date.parse(lastDay.since) >= dayMs
  const title = isWholeDay ? 'Tasks in the last 24 hours' : 'Tasks since the server started'
  return (
    <Panel title={title}>
      <section className={classes.hours} tabIndex={0} aria-label={`${title}, newest first`}>
        <DataTable caption={title} columns={columns} rows={lastDay.hours} rowKey={({ start }) => start} />
      </section>
      <Text size="sm" c="dimmed" mt="xs">
        Includes only the tasks that this server ran
        {!isWholeDay && (
          <>
            {' '}
            since <TimeText at={lastDay.since} isExact />
          </>
        )}
        . Hours without tasks are omitted.
      </Text>
    </Panel>
  )
}

const columns: readonly Column<System['lastDay']['hours'][number]>[] = [
  { id: 'hour', label: 'Hour (UTC)', cell: ({ start }) => <time dateTime={start}>{dayName(start, 'short')}</time> },
  { id: 'queued', label: 'Longest queue', align: 'right', cell: ({ queued }) => countText(queued) },
  {
    id: 'wait',
    label: 'Queue time p95',
    align: 'right',
    cell: ({ waitP95Ms }) => (waitP95Ms === null ? '–' : durationText(waitP95Ms)),
  },
  { id: 'ended', label: 'Ended', align: 'right', cell: ({ ended }) => countText(ended) },
  { id: 'failed', label: 'Failed', align: 'right', cell: ({ failed }) => countText(failed) },
  {
    id: 'rate',
    label: 'Failure rate',
    align: 'right',
    cell: ({ ended, failed }) => failureRate({ executions: ended, failures: failed }) ?? '–',
  },
]
