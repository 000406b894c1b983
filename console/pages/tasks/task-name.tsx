import { useLocation } from 'wouter'
import type { TaskListItem } from '../../../client/client.ts'
import { useListQuery } from '../../parts/hooks/use-search-field.ts'
import { PageLink } from '../../parts/page-link.tsx'
import classes from './task.module.css'

/**
 * Number of characters to show from the end of an id. Ids start with the time, so only their ends distinguish them.
 */
const idEnd = 8

type TaskNameProps = {
  task: Pick<TaskListItem, 'endpointId' | 'id'>
  /** Default: the user's own page of the task. */
  href?: string
  /** Hides the id on phones, where the row also shows the input. */
  isShort?: boolean
}

export function TaskName({ href, isShort, task: { endpointId, id } }: TaskNameProps) {
  const [pathname] = useLocation()
  const listQuery = useListQuery()
  // The query of other pages, such as the overview's period, does not belong to a list of tasks.
  const query = pathname === '/tasks' || href !== undefined ? listQuery : ''
  return (
    <span title={id}>
      <PageLink href={`${href ?? `/tasks/${encodeURIComponent(id)}`}${query}`}>
        {endpointId}{' '}
        <span className={classes.id} data-is-short={isShort}>
          …{id.slice(-idEnd)}
        </span>
      </PageLink>
    </span>
  )
}
