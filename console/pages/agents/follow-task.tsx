import { notifications } from '@mantine/notifications'
import { client } from '../../app/api-client.ts'
import { whenLeaving } from '../../app/leave-console.ts'
import { PageLink } from '../../parts/page-link.tsx'
import { pagePath } from '../../app/service-url.ts'

/** Each followed task holds one of the six connections that a browser has per server without HTTP/2. */
const followedMax = 2
const followed: AbortController[] = []
whenLeaving(() => {
  for (const one of followed.splice(0)) one.abort()
})

/** Announces the end of a task that this tab started, unless its page is visible then. */
export async function followTask(taskId: string): Promise<void> {
  const follow = new AbortController()
  followed.push(follow)
  if (followed.length > followedMax) followed.shift()?.abort()
  try {
    const { endpointId, status } = await client.tasks.wait(taskId, { signal: follow.signal })
    announce({ isDone: status === 'completed', name: endpointId, path: `/tasks/${encodeURIComponent(taskId)}` })
  } catch {
    // Lists and the task's page report errors.
  }
  const at = followed.indexOf(follow)
  if (at !== -1) followed.splice(at, 1)
}

type End = { isDone: boolean; name: string; path: string }

function announce({ isDone, name, path }: End): void {
  if (document.hidden) markTitle(`${isDone ? '✓' : '✗'} ${name} · Errand`)
  if (pagePath() === path) return
  notifications.show({
    title: `${name} ${isDone ? 'completed' : 'ended without a result'}`,
    message: <PageLink href={path}>View task</PageLink>,
    color: isDone ? 'green' : 'red',
    withBorder: true,
    autoClose: false,
  })
}

/** Shows a title until the user comes back to the tab. */
function markTitle(title: string): void {
  const before = document.title
  document.title = title
  const restore = () => {
    if (document.title === title) document.title = before
  }
  document.addEventListener('visibilitychange', restore, { once: true })
}
