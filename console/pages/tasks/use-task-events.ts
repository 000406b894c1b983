import { useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Task } from '../../../client/client.ts'
import { client } from '../../app/api-client.ts'

/** Keeps what the page knows of a task at work up to date with what its agent says of its progress. */
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
          // An answer that was under way may be older than what was said since.
          if (!task || task.completedAt !== undefined || task.attempt > attempt) return task
          return progress ? { ...task, attempt, progress } : task
        })
      }
    }
    // The page reads the task beside it, and says what is wrong.
    follow().catch(() => {})
    return () => left.abort()
  }, [isAtWork, queries, taskId])
}
