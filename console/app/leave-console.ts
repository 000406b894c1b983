import { loginPath } from './local-path.ts'
import { queryClient, wasLoggedOut } from './query-client.ts'
import { goTo } from './service-url.ts'

export const storedPrefix = 'errand.'

const keepers = new Set<() => void>()

/** Registers cleanup of state outside the query cache. `forget` is called when the login ends. */
export function whenLeaving(forget: () => void): void {
  keepers.add(forget)
}

const enders = new Set<() => Promise<unknown>>()

/** Registers cleanup that needs the login. `end` is called before the login ends. */
export function beforeLoggingOut(end: () => Promise<unknown>): void {
  enders.add(end)
}

export async function endWork(): Promise<void> {
  await Promise.allSettled([...enders].map((end) => end()))
}

/** Undefined in browsers without BroadcastChannel. There, other tabs notice the logout at their next request. */
const channel = 'BroadcastChannel' in globalThis ? new BroadcastChannel('errand.logout') : undefined

/** Opens the login page and removes all data of the previous user from all tabs. */
export function leaveConsole(path = '/login'): void {
  goTo(path, { replace: true })
  forgetAll()
  channel?.postMessage(null)
}

channel?.addEventListener('message', () => {
  // On public pages, such as an invitation, no account is cached.
  if (queryClient.getQueryData(['account']) === undefined) return
  goTo(loginPath(), { replace: true, state: wasLoggedOut })
  forgetAll()
})

/** Reloads the page for the user who is logged in now, without any data of the previous user. */
export function startOver(): void {
  forgetAll()
  // Suppress the browser's leave-page confirmation. A reply in progress or an unsaved key would trigger it, but both
  // belong to another account now.
  addEventListener('beforeunload', (event) => event.stopImmediatePropagation(), { capture: true })
  location.reload()
}

function forgetAll(): void {
  queryClient.clear()
  for (const forget of keepers) forget()
  try {
    // Remove entries by prefix, because the console parts that stored them may not be loaded.
    for (const name of Object.keys(sessionStorage)) {
      if (name.startsWith(storedPrefix)) sessionStorage.removeItem(name)
    }
  } catch {
    // Accessing `sessionStorage` throws if the browser has disabled storage.
  }
}
