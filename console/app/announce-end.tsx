import { Anchor } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { pagePath } from './service-url.ts'
import { RouterLink } from '../parts/router-link.tsx'

/** `name`: short, for the title of the tab. `path`: page of the task or chat, with `link` as the text of its link. */
type End = { isDone: boolean; name: string; title: string; path: string; link: string }

/**
 * Announces the end of a task or reply that the user has left, in a notice, and in the title and icon of the tab until
 * the user closes the notice or comes back to the tab.
 */
export function announceEnd({ isDone, link, name, path, title }: End): void {
  const isHere = pagePath() === path
  if (isHere && !document.hidden) return
  const unmark = markTab(isDone, name)
  if (document.hidden) document.addEventListener('visibilitychange', unmark, { once: true })
  if (isHere) return
  const id = notifications.show({
    title,
    message: (
      <Anchor component={RouterLink} href={path} onClick={() => notifications.hide(id)}>
        {link}
      </Anchor>
    ),
    color: isDone ? 'green' : 'red',
    withBorder: true,
    autoClose: false,
    onClose: unmark,
  })
}

/** Marks the tab. Returns a function that restores it. */
function markTab(isDone: boolean, name: string): () => void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')!
  const before = { icon: plainIcon(icon), title: document.title }
  const title = `${isDone ? '✓' : '✗'} ${name} · Errand`
  document.title = title
  icon.href = isDone ? doneIcon : failedIcon
  return () => {
    // Another page may have set its own title since.
    if (document.title === title) document.title = before.title
    icon.href = before.icon
  }
}

let plain: string | undefined
/** The icon may be marked already. */
function plainIcon({ href }: HTMLLinkElement): string {
  return (plain ??= href)
}

const iconOf = (color: string, path: string) =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="#fff" stroke-width="2"><circle cx="8" cy="8" r="8" fill="${color}" stroke="none"/><path d="${path}"/></svg>`,
  )}`
const doneIcon = iconOf('#2b8a3e', 'M4 8.5 7 11.5 12 5')
const failedIcon = iconOf('#c92a2a', 'M5 5 11 11M11 5 5 11')
