import { Anchor } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { brand } from './read-brand.ts'
import { pagePath } from './service-url.ts'
import { RouterLink } from '../parts/router-link.tsx'

/**
 * `name` is a short name for the tab's title. `path` is the page of the task or chat, and `link` is the text of the
 * link to it.
 */
type End = { isDone: boolean; name: string; title: string; path: string; link: string }

/**
 * Announces the end of a task or reply whose page the user has left. Shows a notice, and marks the tab's title and icon
 * until the user closes the notice or returns to the tab.
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

/** Marks the tab's title and icon. Returns a function that restores them. */
function markTab(isDone: boolean, name: string): () => void {
  const icon = document.querySelector<HTMLLinkElement>('link[rel="icon"]')!
  const before = { icon: plainIcon(icon), title: document.title }
  const title = `${isDone ? '✓' : '✗'} ${name} · ${brand.name}`
  document.title = title
  icon.href = isDone ? doneIcon : failedIcon
  return () => {
    // Another page may have set its own title in the meantime.
    if (document.title === title) document.title = before.title
    icon.href = before.icon
  }
}

let plain: string | undefined
/** Returns the unmarked icon, even if the icon is already marked. */
function plainIcon({ href }: HTMLLinkElement): string {
  return (plain ??= href)
}

const iconOf = (color: string, path: string) =>
  `data:image/svg+xml,${encodeURIComponent(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="none" stroke="#fff" stroke-width="2"><circle cx="8" cy="8" r="8" fill="${color}" stroke="none"/><path d="${path}"/></svg>`,
  )}`
const doneIcon = iconOf('#2b8a3e', 'M4 8.5 7 11.5 12 5')
const failedIcon = iconOf('#c92a2a', 'M5 5 11 11M11 5 5 11')
