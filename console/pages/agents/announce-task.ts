import { client } from '../../app/api-client.ts'
import { whenLeaving } from '../../app/leave-console.ts'
import { announceEnd } from '../../app/announce-end.tsx'

/** Each followed task holds one of the six connections that a browser has per server without HTTP/2. */
const followedMax = 2
const followed: AbortController[] = []
whenLeaving(() => {
  for (const one of followed.splice(0)) one.abort()
})

/** Announces the end of a task that this tab started. */
export async function followTask(taskId: string): Promise<void> {
  const follow = new AbortController()
  followed.push(follow)
  if (followed.length > followedMax) followed.shift()?.abort()
  try {
    const { endpointId, status } = await client.tasks.wait(taskId, { signal: follow.signal })
    const isDone = status === 'completed'
    announceEnd({
      isDone,
      name: endpointId,
      title: `${endpointId} ${isDone ? 'completed' : 'ended without a result'}`,
      path: `/tasks/${encodeURIComponent(taskId)}`,
      link: 'View task',
    })
  } catch {
    // Lists and the task's page report errors.
  }
  const at = followed.indexOf(follow)
  if (at !== -1) followed.splice(at, 1)
}
