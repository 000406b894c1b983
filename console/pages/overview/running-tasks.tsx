import { Skeleton, Text } from '@mantine/core'
import { DataTable } from '../../parts/data-table.tsx'
import { OverviewSection } from './overview-section.tsx'
import classes from './overview-lists.module.css'
import { taskColumns } from './task-columns.tsx'
import type { LiveOverview } from './use-live-overview.ts'

const count = new Intl.NumberFormat('en')

export function RunningTasks({ processing, pending }: Pick<LiveOverview, 'processing' | 'pending'>) {
  const tasks = [...(processing.data?.tasks ?? []), ...(pending.data?.tasks ?? [])]
  // A task that started between the two responses may be in both lists.
  const shown = [...new Map(tasks.map((task) => [task.id, task])).values()]
  const isKnown = processing.data !== undefined && pending.data !== undefined
  const summary =
    processing.data && pending.data
      ? `${count.format(processing.data.total)} running, ${count.format(pending.data.total)} queued`
      : ''
  return (
    <OverviewSection
      title="Running now"
      more={{ href: '/tasks?status=processing', label: 'View running tasks' }}
      note={
        <Text size="sm" c="dimmed" className="tabular" aria-live="polite">
          {summary}
        </Text>
      }
    >
      {!isKnown && <Skeleton height={48} aria-busy="true" />}
      {isKnown && shown.length === 0 && <div className={classes.quiet}>No running tasks.</div>}
      {shown.length > 0 && (
        <DataTable caption="Running tasks" columns={taskColumns} rows={shown} rowKey={({ id }) => id} />
      )}
    </OverviewSection>
  )
}
