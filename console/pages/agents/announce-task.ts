import { client } from '../../app/api-client.ts'
import { whenLeaving } from '../../app/leave-console.ts'
import { announceEnd } from '../../app/announce-end.tsx'

/** Without HTTP/2, a browser opens at most six connections per server, and each followed task uses one. */
const followedMax = 2
const followed: AbortController[] = []
whenLeaving(() => {
  for (const one of followed.splice(0)) one.abort()
})

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
    // Ignore errors. Lists and the task's page report them.
  }
  const at = followed.indexOf(follow)
  if (at !== -1) followed.splice(at, 1)
}
