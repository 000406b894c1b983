import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Task } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'

/** While a task is running, writes its agent's progress reports into the cached task. */
export function useTaskEvents(taskId: string, isAtWork: boolean): void {
  const queries = useQueryClient()
  useEffect(() => {
    if (!isAtWork) return undefined
    const left = new AbortController()
    const follow = async () => {
      for await (const event of client.tasks.events(taskId, { signal: left.signal })) {
        if (event.type === 'end') return
        const { attempt, progress } = event
        queries.setQueryData<Task>(['task', taskId], (task) => {
          // The cached task may be newer than the event.
          if (!task || task.completedAt !== undefined || task.attempt > attempt) return task
          return progress ? { ...task, attempt, progress } : task
        })
      }
    }
    // Ignore errors, because the page also polls the task and reports errors itself.
    follow().catch(() => {})
    return () => left.abort()
  }, [isAtWork, queries, taskId])
}
