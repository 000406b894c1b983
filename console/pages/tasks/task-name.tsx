import type { TaskListItem } from '../../../client/client.ts'
import { PageLink } from '../../parts/page-link.tsx'
import classes from './task.module.css'

/** Ids begin with the time, so it is their ends that tell them apart. */
const idEnd = 8

/** What a task ran and which one it is, as the link to its page. */
export function TaskName({ task: { endpointId, id } }: { task: Pick<TaskListItem, 'endpointId' | 'id'> }) {
  return (
    <span title={id}>
      <PageLink href={`/tasks/${encodeURIComponent(id)}`}>
        {endpointId} <span className={classes.id}>…{id.slice(-idEnd)}</span>
      </PageLink>
    </span>
  )
}
